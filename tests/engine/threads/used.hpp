#pragma once

#include "small_engine.hpp"
#include "within.hpp"

#include <corewise/engine/parallel_for.hpp>
#include <corewise/engine/sleep.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

// Shared by the tests of engines that the system treats badly.

namespace corewise::tests {

/// Uses an engine as programs do, in a process of the test's own. Returns a sum of powers of two, one for each thing that went
/// wrong; ends the process with 1 where tasks do not run.
inline int used(engine& e) {
  std::atomic<int> ran{0};
  for (int i = 0; i < 1000; ++i) static_cast<void>(e.submit([&] { ++ran; }));
  const int sum = e.run([]() -> task<int> {
                     co_await sleep_for(std::chrono::milliseconds{1});
                     co_return co_await parallel_for(0, 100, [](int) {}), 7;
                   }())
                      .get();
  static_cast<void>(
      e.submit([&] { blocking([&] { std::this_thread::sleep_for(std::chrono::milliseconds{5}), ++ran; }); }));
  if (!within(std::chrono::seconds{30}, [&] { return ran == 1001; }))
    std::_Exit(1); // they would use what goes now
  std::pmr::memory_resource& memory = e.memory(first_group);
  memory.deallocate(memory.allocate(1 << 20, 64), 1 << 20, 64);
  static_cast<void>(e.refresh());
  return 2 * int{sum != 7};
}

/// Makes an engine and uses it. `warning`: a part of one that it must give; empty: none is looked for. Returns such a sum.
inline int used(const profile& p, std::string_view warning) {
  engine e(p);
  const int wrong = used(e);
  e.drain();
  const bool warned = warning.empty() || std::ranges::any_of(e.warnings(), [&](const std::string& w) {
                        return w.find(warning) != std::string::npos;
                      });
  return wrong + 4 * int{e.metrics().in_flight() != 0} + 8 * int{!warned} +
         16 * int{!e.shutdown(std::chrono::seconds{10}).clean()};
}

} // namespace corewise::tests
