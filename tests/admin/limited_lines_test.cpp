#include "limited_lines.hpp"

#include <doctest/doctest.h>

using corewise::admin::limited_lines;
using namespace std::chrono_literals;

TEST_CASE(
    "admin: of lines that strangers cause ten a minute are logged, and the next one tells of the others") {
  limited_lines lines;
  const limited_lines::time begin{};
  for (int i = 0; i < 10; ++i) CHECK(lines.next("no", begin + 1s * i) == "no");
  for (int i = 10; i < 59; ++i) CHECK_FALSE(lines.next("no", begin + 1s * i));
  CHECK(lines.next("no", begin + 60s) == "no (49 more such lines were left out)");
  CHECK(lines.next("no", begin + 61s) == "no");
}
