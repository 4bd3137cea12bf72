// An engine beside programs that take all CPUs.

#include "child_process.hpp"
#include "small_engine.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

TEST_CASE(
    "hog: beside a program of the highest priority on each CPU tasks run, and no worker is taken for stuck") {
  std::vector<pid_t> hogs;
  bool refused = false; // without the right to it
  for (long i = 0; i < ::sysconf(_SC_NPROCESSORS_ONLN); ++i) {
    hogs.push_back(child_that([] {
      ::alarm(60);
      for (volatile std::uint64_t spun = 0;;) spun = spun + 1;
    }));
    refused = ::setpriority(PRIO_PROCESS, static_cast<id_t>(hogs.back()), -20) != 0 || refused;
  }
  if (refused) MESSAGE("skipped: no right to the highest priority; the programs have the usual one");
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

TEST_CASE(
    "hog: a task that real-time programs keep from all CPUs for longer than `stuck_after` is not reported") {
  constexpr int refused = 77;
  constexpr int bursts = 6;
  constexpr auto burst = 450ms;
  constexpr auto period = 650ms;
  constexpr int tasks = 30;
  const auto take_priority = [](int policy, int priority) {
    const sched_param p{priority};
    if (::sched_setscheduler(0, policy, &p) != 0) std::_Exit(refused);
  };
  const auto begin = std::chrono::steady_clock::now() + 300ms;
  std::vector<pid_t> hogs;
  for (long i = 0; i < ::sysconf(_SC_NPROCESSORS_ONLN); ++i)
    hogs.push_back(child_that([&] {
      take_priority(SCHED_FIFO, 2);
      for (int k = 0; k < bursts; ++k) {
        std::this_thread::sleep_until(begin + k * period);
        while (std::chrono::steady_clock::now() < begin + k * period + burst) {
        }
      }
      std::_Exit(0);
    }));
  const pid_t child = child_that([&] {
    take_priority(SCHED_RR, 1); // so that only the hogs keep the engine's threads from the CPUs
    profile p = small_profile(1);
    p.blocking.stuck_after = 300ms;
    engine e(p);
    std::atomic<int> ran{0};
    for (int i = 0; i < tasks; ++i)
      static_cast<void>(e.submit([&] {
        const auto used = [] {
          timespec t{};
          ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
          return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
        };
        const auto before = used();
        while (used() - before < 60ms) { // of a CPU: a burst falls into a task that the supervisor has seen
        }
        ++ran;
      }));
    e.drain();
    std::_Exit(ran != tasks ? 100 : static_cast<int>(std::min<std::uint64_t>(e.metrics().total().stuck, 76)));
  });
  const int reports = exit_status(child);
  for (const pid_t hog : hogs) CHECK(exit_status(hog) == (reports == refused ? refused : 0));
  if (reports == refused)
    MESSAGE("skipped: no right to real-time priority");
  else
    CHECK(reports == 0);
}
