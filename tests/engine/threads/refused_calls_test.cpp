// Engines to which the kernel refuses a system call that they make: they do without.

#include "refused_call.hpp"
#include "threads/calls_for_speed.hpp"
#include "threads/used.hpp"

#include <corewise/topology/error.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <system_error>

using namespace corewise;
using namespace corewise::tests;

namespace {

profile pinned() {
  profile p;
  p.workers.total = 2;
  return p;
}

} // namespace

TEST_CASE("refused calls: an engine does its work without a call that it makes for speed, and says so") {
  for (const call_for_speed& c : calls_for_speed()) {
    CAPTURE(c.name);
    CHECK(wrong_without(c.number, {}, [&] { return used(pinned(), c.warning); }) == 0);
  }
}

TEST_CASE("refused calls: a strict engine whose threads cannot be tied does not begin, and says why") {
  const auto begun = [] {
    profile p = pinned();
    p.strict = true;
    try {
      const engine e(p);
    } catch (const topology_error& e) {
      return std::string_view(e.what()).find("workers are not pinned") == std::string_view::npos ? 2 : 0;
    }
    return 1;
  };
  CHECK(wrong_without(SYS_sched_setaffinity, {}, begun) == 0);
}

TEST_CASE("refused calls: an engine that gets no thread says so, and leaves nothing behind") {
  const auto begun = [] {
    try {
      const engine e(pinned());
    } catch (const std::system_error& e) {
      return std::string_view(e.what()).find("cannot start a worker thread") == std::string_view::npos ? 2
                                                                                                       : 0;
    }
    return 1;
  };
  CHECK(wrong_without(SYS_clone3, {}, begun) == 0);
}
