// The costs of timers: setting and cancelling one, its bytes, how late it comes on an idle and on a busy
// engine, and how much of a CPU a million of them use while they wait.
//
//   timers_cost [TIMERS] [WORKERS] [SECONDS]      a million, 2 and 10
//
// *Wheel*: a group's timers by themselves, deadlines at random within an hour, nodes side by side. *Engine*:
// `after` and `timer::cancel`, block and all; coroutines that sleep, from `submit` until they are suspended.
// Lateness is that of a coroutine behind `sleep_for`, by the clock that it reads when it goes on. *Loaded*:
// two endless yielders and one task of 100 us after another on each worker. *At rest*: CPU time of the
// process over the given seconds.

#include "timers/timer_group.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/yield.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

using monotonic = std::chrono::steady_clock;
using std::chrono::nanoseconds;

std::int64_t now_ns() { return monotonic::now().time_since_epoch().count(); }

double each(std::int64_t begin, std::size_t n) {
  return static_cast<double>(now_ns() - begin) / static_cast<double>(n);
}

std::size_t resident_bytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

profile workers(std::uint32_t n) {
  profile p;
  p.workers.total = n;
  return p;
}

void wheel_alone(std::size_t count) {
  std::mt19937_64 random(1);
  std::vector<detail::timer_node> timers(count);
  detail::timer_group group;
  const std::int64_t start = now_ns();
  for (detail::timer_node& t : timers)
    t.deadline_ns = start + 1'000'000'000 + static_cast<std::int64_t>(random() % 3'600'000'000'000);
  std::int64_t begin = now_ns();
  for (detail::timer_node& t : timers) static_cast<void>(group.set(t, begin));
  std::printf("wheel:   set    %7.1f ns\n", each(begin, count));
  begin = now_ns();
  for (detail::timer_node& t : timers) static_cast<void>(group.cancel(t));
  std::printf("wheel:   cancel %7.1f ns\n", each(begin, count));
}

void calls(std::size_t count, std::uint32_t n) {
  engine e(workers(n));
  std::mt19937_64 random(1);
  std::vector<timer> timers(count);
  std::vector<nanoseconds> distances(count);
  for (nanoseconds& d : distances) d = 1h + nanoseconds(random() % 3'600'000'000'000);
  for (const char* blocks : {"fresh", "recycled"}) {
    std::int64_t begin = now_ns();
    for (std::size_t i = 0; i < count; ++i) timers[i] = e.after(distances[i], [] {});
    std::printf("engine:  after  %7.1f ns, %s blocks\n", each(begin, count), blocks);
    begin = now_ns();
    for (timer& t : timers) static_cast<void>(t.cancel());
    std::printf("engine:  cancel %7.1f ns\n", each(begin, count));
    for (timer& t : timers) t = {};
  }
}

task<> sleep_once(nanoseconds d) { co_await sleep_for(d); }

void at_rest(std::size_t count, std::uint32_t n, std::chrono::seconds rest) {
  engine e(workers(n));
  std::mt19937_64 random(1);
  const std::size_t before = resident_bytes();
  const std::int64_t begin = now_ns();
  for (std::size_t i = 0; i < count; ++i)
    static_cast<void>(e.submit(sleep_once(1h + nanoseconds(random() % 3'600'000'000'000))));
  while (e.metrics().timers_pending != count) std::this_thread::sleep_for(1ms);
  std::printf("engine:  submit and sleep %7.1f ns\n", each(begin, count));
  std::printf("bytes:   timer %zu, awaiter %zu, resident for each sleeping coroutine %.0f\n",
              sizeof(detail::timer_node), sizeof(detail::sleeping),
              static_cast<double>(resident_bytes() - before) / static_cast<double>(count));
  std::this_thread::sleep_for(1s);
  const double cpu = cpu_seconds();
  const std::uint64_t parks = e.metrics().total().timeouts + e.metrics().total().wakes;
  std::this_thread::sleep_for(rest);
  const double used = cpu_seconds() - cpu;
  std::printf(
      "at rest: %.3f ms of CPU in %lld s, %llu wake-ups\n", used * 1000, static_cast<long long>(rest.count()),
      static_cast<unsigned long long>(e.metrics().total().timeouts + e.metrics().total().wakes - parks));
  static_cast<void>(e.shutdown(0s));
}

task<> note_lateness(nanoseconds d, std::int64_t& late, std::atomic<std::size_t>& noted) {
  const auto due = monotonic::now() + d;
  co_await sleep_until(due);
  late = (monotonic::now() - due).count();
  noted.fetch_add(1, std::memory_order_release);
}

/// The lateness of single timers, set one after the other at random intervals.
std::vector<std::int64_t> lateness(engine& e, std::size_t samples) {
  std::mt19937_64 random(2);
  std::vector<std::int64_t> late(samples, -1);
  std::atomic<std::size_t> noted{0};
  for (std::int64_t& sample : late) {
    static_cast<void>(e.submit(note_lateness(nanoseconds(1'000'000 + random() % 4'000'000), sample, noted)));
    std::this_thread::sleep_for(nanoseconds(random() % 3'000'000));
  }
  while (noted.load(std::memory_order_acquire) != samples) std::this_thread::sleep_for(1ms);
  std::ranges::sort(late);
  return late;
}

void print(const char* engine_is, const std::vector<std::int64_t>& late) {
  const auto at = [&](double q) {
    return static_cast<double>(late[static_cast<std::size_t>(q * static_cast<double>(late.size() - 1))]) /
           1000;
  };
  std::printf("late:    %-6s p50 %7.1f us   p99 %7.1f us   most %7.1f us\n", engine_is, at(.5), at(.99),
              at(1));
}

task<> yield_until(const std::atomic<bool>& over) {
  while (!over.load(std::memory_order_relaxed)) co_await yield();
}

task<> work_until(const std::atomic<bool>& over) {
  while (!over.load(std::memory_order_relaxed)) {
    const auto until = monotonic::now() + 100us;
    while (monotonic::now() < until) {
    }
    co_await yield();
  }
}

void on_time(std::uint32_t n) {
  constexpr std::size_t samples = 2000;
  engine e(workers(n));
  print("idle", lateness(e, samples));
  std::atomic<bool> over{false};
  for (std::uint32_t i = 0; i < n; ++i) {
    for (int yielders = 0; yielders < 2; ++yielders) static_cast<void>(e.submit(yield_until(over)));
    static_cast<void>(e.submit(work_until(over)));
  }
  print("loaded", lateness(e, samples));
  over = true;
  e.drain();
}

} // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const auto n = static_cast<std::uint32_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 2);
  const std::chrono::seconds rest(argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 10);
  std::printf("%zu timers, %u workers\n", count, n);
  wheel_alone(count);
  calls(count, n);
  at_rest(count, n, rest);
  on_time(n);
}
