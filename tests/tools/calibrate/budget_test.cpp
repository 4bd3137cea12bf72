#include <calibrate/budget.hpp>
#include <doctest/doctest.h>

using namespace corewise::command;
using namespace std::chrono_literals;

TEST_CASE("a budget is a number and its unit") {
  CHECK(parse_budget("10s") == 10s);
  CHECK(parse_budget("500ms") == 500ms);
  CHECK(parse_budget("1.5min") == 90s);
  for (const char* wrong :
       {"", "10", "s", "10 s", " 10s", "10h", "1e3s", "0x10s", "infs", "nans", "-1s", "99999min"})
    CHECK_MESSAGE(!parse_budget(wrong), wrong);
}
