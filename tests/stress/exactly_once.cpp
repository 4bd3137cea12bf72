// Runs many more workers than cores, with tasks from outside threads and from tasks. All tasks must run
// exactly once, loads must be zero at rest, no task may be rescued by a time-out, and afterwards the process
// must sleep and use next to no CPU.

#include <corewise/engine/engine.hpp>

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace corewise;

namespace {

struct amounts {
  std::uint32_t workers = 64;
  std::uint32_t threads = 8;
  std::uint64_t tasks = 10'000'000;
  std::string park_timeout = "adaptive";
  bool mixed = false; // tasks of all classes
};

amounts read_arguments(int count, char** words) {
  amounts a;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = words[i];
    if (name == "--workers")
      a.workers = static_cast<std::uint32_t>(std::stoul(words[i + 1]));
    else if (name == "--threads")
      a.threads = static_cast<std::uint32_t>(std::stoul(words[i + 1]));
    else if (name == "--tasks")
      a.tasks = std::stoull(words[i + 1]);
    else if (name == "--park-timeout")
      a.park_timeout = words[i + 1];
    else if (name == "--classes")
      a.mixed = std::strcmp(words[i + 1], "mixed") == 0;
    else {
      std::fprintf(stderr, "unknown argument %s\n", words[i]);
      std::exit(2);
    }
  }
  return a;
}

struct usage {
  std::uint64_t context_switches = 0;
  double cpu_seconds = 0;
};

usage usage_now() {
  rusage now{};
  ::getrusage(RUSAGE_SELF, &now);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return {static_cast<std::uint64_t>(now.ru_nvcsw) + static_cast<std::uint64_t>(now.ru_nivcsw),
          seconds(now.ru_utime) + seconds(now.ru_stime)};
}

int failures = 0;
void expect(bool right, const char* what, double found) {
  std::printf("%s %s: %g\n", right ? "ok    " : "FAILED", what, found);
  failures += right ? 0 : 1;
}

constexpr std::uint64_t children = 3; // of each task that comes from outside

/// Runs task number n, which must not have run before.
void run(std::vector<std::atomic<std::uint8_t>>& runs, std::uint64_t n) {
  runs[n].fetch_add(1, std::memory_order_relaxed);
}

/// Returns a hint for the class that number n has.
hint wish_of(bool mixed, std::uint64_t n) {
  if (!mixed || n % 5 > 2) return {};
  return {.run_as = static_cast<task_class>(n % 5)};
}

void submit_family(engine& e, std::vector<std::atomic<std::uint8_t>>& runs, std::uint64_t first, bool mixed) {
  const auto family = [&e, &runs, first, mixed] {
    run(runs, first);
    for (std::uint64_t k = 1; k <= children && first + k < runs.size(); ++k)
      if (e.submit([&runs, n = first + k] { run(runs, n); }, wish_of(mixed, first + k)) !=
          submit_result::accepted)
        std::abort();
  };
  const submit_result answer = e.submit(family, wish_of(mixed, first));
  if (answer != submit_result::accepted) std::abort();
}

/// Waits until the process has used little CPU time for a second: its engine goes on looking for a while, and
/// then gives spare memory back, both later on a busy machine. Gives up after 15 s.
void await_rest() {
  for (int second = 0; second < 15; ++second) {
    const double before = usage_now().cpu_seconds;
    std::this_thread::sleep_for(std::chrono::seconds{1});
    if (second >= 2 && usage_now().cpu_seconds - before < .02) return;
  }
}

} // namespace

int main(int count, char** words) {
  const amounts a = read_arguments(count, words);
  profile p;
  p.topology.groups.group_by = domain_kind::machine; // one domain, however many caches the machine has
  p.workers.total = a.workers;
  if (a.park_timeout == "never") p.idle.park_timeout.kind = park_timeout_setting::mode::never;
  engine e(p);
  std::vector<std::atomic<std::uint8_t>> runs(a.tasks);

  const auto began = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < a.threads; ++t)
    threads.emplace_back([&, t] {
      const std::uint64_t step = children + 1;
      for (std::uint64_t first = t * step; first < a.tasks; first += a.threads * step)
        submit_family(e, runs, first, a.mixed);
    });
  for (std::thread& t : threads) t.join();
  e.drain();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;

  std::uint64_t wrong = 0;
  for (const auto& n : runs) wrong += n.load(std::memory_order_relaxed) != 1;
  const metrics_snapshot m = e.metrics();
  std::printf("%llu tasks, %u workers, %u threads: %.2f s, %.0f ns a task\n",
              static_cast<unsigned long long>(a.tasks), a.workers, a.threads, took.count(),
              took.count() * 1e9 / static_cast<double>(a.tasks));
  expect(wrong == 0, "tasks that did not run exactly once", static_cast<double>(wrong));
  expect(m.in_flight() == 0, "in flight at rest", static_cast<double>(m.in_flight()));
  expect(m.waiting() == 0, "waiting in queues at rest", static_cast<double>(m.waiting()));
  expect(m.total().executed == a.tasks, "executed", static_cast<double>(m.total().executed));
  expect(m.total().rescued_by_timeout == 0, "rescued by a time-out",
         static_cast<double>(m.total().rescued_by_timeout));

  await_rest();
  const usage before = usage_now();
  constexpr int seconds = 3;
  std::this_thread::sleep_for(std::chrono::seconds{seconds});
  const usage after = usage_now();
  const double per_second = static_cast<double>(after.context_switches - before.context_switches) / seconds;
  expect(per_second < 20, "wake-ups a second when idle", per_second);
  const double share = (after.cpu_seconds - before.cpu_seconds) / seconds;
  expect(share < .05, "of one CPU when idle", share);
  return failures == 0 ? 0 : 1;
}
