#include "made_machine.hpp"
#include "situation.hpp"

#include <corewise/policies/repeated_placement.hpp>

#include <doctest/doctest.h>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE("repeated_placement: as many tasks follow an answer as it says") {
  const situation s(build(one_kind(2, 2)));
  repeated_placement last;
  CHECK_FALSE(last.holds(std::nullopt, s.view()));
  last.note({.worker = {3}, .group = {1}, .repeat = 2}, 3);
  for (int i = 0; i < 2; ++i) {
    REQUIRE(last.holds(3, s.view()));
    CHECK(last.take().worker.value == 3);
  }
  CHECK_FALSE(last.holds(3, s.view()));
}

TEST_CASE("repeated_placement: an answer holds on the same CPU only, while the worker is available") {
  situation s(build(one_kind(2, 2)));
  repeated_placement last;
  last.note({.worker = {3}, .group = {1}, .repeat = 2}, 3);
  CHECK_FALSE(last.holds(2, s.view()));
  CHECK_FALSE(last.holds(std::nullopt, s.view()));
  s.boards().set_unavailable({2});
  CHECK(last.holds(3, s.view()));
  s.boards().set_unavailable({3});
  CHECK_FALSE(last.holds(3, s.view()));
  last.note({.worker = {0}, .group = {0}, .repeat = 1}, std::nullopt);
  CHECK(last.holds(std::nullopt, s.view()));
  CHECK_FALSE(last.holds(0, s.view()));
}
