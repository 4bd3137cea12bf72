#include "child_process.hpp"
#include "hwloc_source.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

using namespace corewise;

TEST_CASE("discovery: a fork waits for one of those under way, and not for all that come") {
  const synthetic_source machine{"pack:2 numa:2 l3:8 core:16 pu:2"};
  std::atomic<int> discoveries{0};
  std::atomic<bool> enough{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      while (!enough) {
        static_cast<void>(detail::scan_synthetic(machine));
        ++discoveries;
      }
    });
  std::vector<int> meanwhile;
  for (int i = 0; i < 41; ++i) {
    while (discoveries < 3 * i) std::this_thread::yield();
    const int before = discoveries;
    const pid_t child = tests::child_that([] { std::_Exit(0); });
    meanwhile.push_back(discoveries - before);
    CHECK(tests::exit_status(child) == 0);
  }
  enough = true;
  for (std::thread& t : threads) t.join();
  std::ranges::sort(meanwhile);
  CAPTURE(meanwhile.back());
  CHECK(meanwhile[20] <= 2); // in the median, since one that has just ended may be counted a little later
}
