// What a trace costs: tasks of some length that each submit the next one, while a trace is taken and while none is, in turns.
// The thread that collects has a CPU of its own, where there is one. tracing_cost [PAIRS]

#include <corewise/engine/engine.hpp>
#include <corewise/engine/trace.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

using namespace corewise;
using std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds window{50};
constexpr double events_of_a_task = 3; // queued, begun, ended; the load once in a tick

void work(std::uint64_t rounds) {
  for (std::uint64_t i = 0; i < rounds; ++i)
    asm volatile(""); // NOLINT(hicpp-no-assembler): else there is no loop
}

double rounds_in_a_nanosecond() {
  double best = 0;
  for (int i = 0; i < 20; ++i) {
    constexpr std::uint64_t rounds = 1'000'000;
    const auto begin = steady_clock::now();
    work(rounds);
    const std::chrono::duration<double, std::nano> took = steady_clock::now() - begin;
    best = std::max(best, static_cast<double>(rounds) / took.count());
  }
  return best;
}

/// Tasks that follow each other, on one worker.
class chain {
 public:
  explicit chain(std::uint64_t rounds) : rounds_(rounds), e_(one_worker()) { next(); }
  chain(const chain&) = delete;
  chain& operator=(const chain&) = delete;
  ~chain() {
    over_ = true;
    e_.drain();
  }

  /// Returns nanoseconds a task, within a window in which that is done.
  template <class F> double during(const F& act) const {
    const std::uint64_t before = count_.load(std::memory_order_relaxed);
    const auto begin = steady_clock::now();
    act();
    const std::chrono::duration<double, std::nano> took = steady_clock::now() - begin;
    return took.count() / static_cast<double>(count_.load(std::memory_order_relaxed) - before);
  }
  const engine& runs_on() const noexcept { return e_; }

 private:
  static profile one_worker() {
    profile p;
    p.workers.total = 1;
    return p;
  }
  void next() {
    static_cast<void>(e_.submit([this] {
      work(rounds_);
      count_.store(count_.load(std::memory_order_relaxed) + 1,
                   std::memory_order_relaxed); // one task at a time
      if (!over_.load(std::memory_order_relaxed)) next();
    }));
  }

  const std::uint64_t rounds_;
  std::atomic<std::uint64_t> count_{0};
  std::atomic<bool> over_{false};
  engine e_;
};

double median(std::vector<double> of) {
  std::ranges::nth_element(of, of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2));
  return of[of.size() / 2];
}

void measure(double task_ns, double rounds_a_ns, int pairs) {
  const chain tasks(static_cast<std::uint64_t>(task_ns * rounds_a_ns));
  std::vector<double> off;
  std::vector<double> ratios;
  std::vector<double> events;
  for (int i = 0; i <= pairs; ++i) {
    const double without = tasks.during([] { std::this_thread::sleep_for(window); });
    trace_session session(tasks.runs_on(), 100'000'000);
    const double with = tasks.during([&] { session.collect_for(window); });
    static_cast<void>(session.finish());
    if (i == 0) continue; // rings are made
    off.push_back(without);
    ratios.push_back(with / without);
    events.push_back((with - without) / events_of_a_task);
  }
  std::ranges::sort(ratios);
  const auto part = [&](double q) {
    return ratios[static_cast<std::size_t>(q * static_cast<double>(ratios.size() - 1))];
  };
  std::printf("tasks of %5.0f ns: %7.1f ns each without a trace, %.3f times with one (p10 %.3f, p90 %.3f), "
              "%.1f ns an event\n",
              task_ns, median(off), part(.5), part(.1), part(.9), median(events));
}

} // namespace

int main(int argc, char** argv) {
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 15;
  if (pairs < 1 || argc > 2) {
    std::fputs("usage: tracing_cost [PAIRS]\n", stderr);
    return 2;
  }
  const double rounds = rounds_in_a_nanosecond();
  for (const double task_ns : {0.0, 1000.0, 10'000.0}) measure(task_ns, rounds, pairs);
}
