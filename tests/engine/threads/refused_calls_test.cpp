// Engines to which the kernel refuses a system call that they make: they do without.

#include "refused_call.hpp"
#include "sanitized.hpp"
#include "small_engine.hpp"

#include <corewise/engine/parallel_for.hpp>
#include <corewise/engine/sleep.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <system_error>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// Uses an engine as programs do. Returns a sum of powers of two, one for each thing that went wrong.
int used(const profile& p, std::string_view warning) {
  std::atomic<int> ran{0};
  engine e(p);
  for (int i = 0; i < 1000; ++i) static_cast<void>(e.submit([&] { ++ran; }));
  const int sum = e.run([]() -> task<int> {
                     co_await sleep_for(1ms);
                     co_return co_await parallel_for(0, 100, [](int) {}), 7;
                   }())
                      .get();
  static_cast<void>(e.submit([&] { blocking([&] { std::this_thread::sleep_for(5ms), ++ran; }); }));
  e.drain();
  std::pmr::memory_resource& memory = e.memory(first_group);
  memory.deallocate(memory.allocate(1 << 20, 64), 1 << 20, 64);
  static_cast<void>(e.refresh());
  const bool warned = warning.empty() || std::ranges::any_of(e.warnings(), [&](const std::string& w) {
                        return w.find(warning) != std::string::npos;
                      });
  return int{ran != 1001} + 2 * int{sum != 7} + 4 * int{e.metrics().in_flight() != 0} + 8 * int{!warned} +
         16 * int{!e.shutdown(10s).clean()};
}

profile pinned() {
  profile p;
  p.workers.total = 2;
  return p;
}

} // namespace

TEST_CASE("refused calls: an engine does its work without a call that it makes for speed, and says so") {
  struct call {
    std::string name;
    long number;
    const char* warning;
  };
  for (const call& c : {call{"sched_setaffinity", SYS_sched_setaffinity, "workers are not pinned"},
                        call{"sched_getaffinity", SYS_sched_getaffinity, "refuses to tell the affinity mask"},
                        call{"mbind", SYS_mbind, ""}, call{"set_mempolicy", SYS_set_mempolicy, ""},
                        call{"get_mempolicy", SYS_get_mempolicy, ""}, call{"move_pages", SYS_move_pages, ""},
                        call{"madvise", SYS_madvise, ""}, call{"membarrier", SYS_membarrier, ""},
                        call{"getcpu", SYS_getcpu, ""}, call{"eventfd2", SYS_eventfd2, ""},
                        call{"epoll_create1", SYS_epoll_create1, ""}}) {
    CAPTURE(c.name);
    if (tests::sanitized && c.number == SYS_sched_getaffinity) continue; // a sanitizer ends without this call
    CHECK(tests::wrong_without(c.number, {}, [&] { return used(pinned(), c.warning); }) == 0);
  }
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
  CHECK(tests::wrong_without(SYS_clone3, {}, begun) == 0);
}
