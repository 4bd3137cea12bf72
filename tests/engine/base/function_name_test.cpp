#include "base/function_name.hpp"

#include <doctest/doctest.h>

#include <string>

using corewise::detail::constant_text;

TEST_CASE("constant text: a text of a file of the process is copied, to its end or so far") {
  CHECK(constant_text("some text", 100) == "some text");
  CHECK(constant_text("some text", 4) == "some");
}

TEST_CASE("constant text: what lies in no file of the process is not read") {
  const std::string on_heap(100, 'x');
  CHECK(constant_text(on_heap.c_str(), 100).empty());
  CHECK(constant_text(nullptr, 100).empty());
}
