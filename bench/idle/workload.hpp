#pragma once

#include <contender.hpp>
#include <held_workers.hpp>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>
#include <thread>

// A pool with nothing to do, after each of its workers has run a task. The figure is the CPU time in us that
// the whole process takes in a second; beside it stand its context switches in a second (each wake-up ends in
// one). The watching thread sleeps, and is not counted. A round is 400 ms.

namespace corewise::bench::idle {

/// How long a pool has to come to rest.
constexpr std::chrono::milliseconds rest{1000};
constexpr std::chrono::milliseconds round{400};

/// What was spent. The two clocks are not read at once: for a process that does nothing the difference may be
/// below 0.
struct spent {
  double us;
  double switches;

  static spent since_begin() {
    rusage all{};
    rusage own{};
    ::getrusage(RUSAGE_SELF, &all);
    ::getrusage(RUSAGE_THREAD, &own);
    return {us_of(CLOCK_PROCESS_CPUTIME_ID) - us_of(CLOCK_THREAD_CPUTIME_ID),
            static_cast<double>(all.ru_nvcsw + all.ru_nivcsw - own.ru_nvcsw - own.ru_nivcsw)};
  }

 private:
  static double us_of(clockid_t clock) {
    timespec t{};
    ::clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
  }
};

template <class Pool> int run(int count, char** words) {
  const options o = options_of(count, words, 1);
  Pool pool(o);
  const std::size_t begun = held_workers<Pool>(pool, o.workers).stacks().size();
  std::this_thread::sleep_for(rest);
  const auto began = std::chrono::steady_clock::now();
  const spent before = spent::since_begin();
  std::this_thread::sleep_for(o.rounds * round);
  const spent after = spent::since_begin();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  return print_figure({"idle-" + std::to_string(o.workers), pool.name, "closure", pool.profile()}, o, "us/s",
                      std::max(0.0, after.us - before.us) / took.count(), {begun, o.workers},
                      {{"switches a second", (after.switches - before.switches) / took.count()}});
}

} // namespace corewise::bench::idle
