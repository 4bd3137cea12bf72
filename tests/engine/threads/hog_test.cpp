// An engine beside programs that take all CPUs.

#include "child_process.hpp"
#include "small_engine.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

TEST_CASE(
    "hog: beside a program of the highest priority on each CPU tasks run, and no worker is taken for stuck") {
  std::vector<pid_t> hogs;
  for (long i = 0; i < ::sysconf(_SC_NPROCESSORS_ONLN); ++i)
    hogs.push_back(child_that([] {
      ::alarm(60);
      static_cast<void>(::setpriority(PRIO_PROCESS, 0, -20)); // refused without the right to it
      for (volatile std::uint64_t spun = 0;;) spun = spun + 1;
    }));
  profile p = small_profile(2);
  p.blocking.stuck_after = 100ms;
  std::atomic<int> ran{0};
  {
    engine e(p);
    for (int i = 0; i < 200; ++i) {
      REQUIRE(e.submit([&] { ++ran; }) == submit_result::accepted);
      if (i % 10 == 0) std::this_thread::sleep_for(20ms);
    }
    e.drain();
    CHECK(std::ranges::none_of(e.warnings(),
                               [](const std::string& w) { return w.find("stuck") != std::string::npos; }));
  }
  CHECK(ran == 200);
  for (const pid_t hog : hogs) {
    ::kill(hog, SIGKILL);
    ::waitpid(hog, nullptr, 0);
  }
}
