// What a trace costs: tasks of some length that each submit the next one, while a trace is taken and while none is, in
// turns. The thread that collects has a CPU of its own, where there is one. tracing_cost [PAIRS]

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
using namespace std::chrono_literals;

namespace {

constexpr std::chrono::milliseconds window{50};
constexpr double events_of_a_task = 3; // queued, begun, ended; the load once in a tick

/// Passes that time. A loop of so many rounds would not: its speed depends on where the compiler has put it.
void work(std::chrono::nanoseconds time) {
  if (time.count() == 0) return;
  const auto until = steady_clock::now() + time;
  while (steady_clock::now() < until) {
  }
}

/// Tasks that follow each other, on one worker.
class chain {
 public:
  explicit chain(std::chrono::nanoseconds time) : time_(time), e_(one_worker()) { next(); }
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
      work(time_);
      count_.store(count_.load(std::memory_order_relaxed) + 1,
                   std::memory_order_relaxed); // one task at a time
      if (!over_.load(std::memory_order_relaxed)) next();
    }));
  }

  const std::chrono::nanoseconds time_;
  std::atomic<std::uint64_t> count_{0};
  std::atomic<bool> over_{false};
  engine e_;
};

double median(std::vector<double> of) {
  std::ranges::nth_element(of, of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2));
  return of[of.size() / 2];
}

void measure(std::chrono::nanoseconds time, int pairs) {
  const chain tasks(time);
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
  std::printf("tasks of %5lld ns: %7.1f ns each without a trace, %.3f times with one (p10 %.3f, p90 %.3f), "
              "%.1f ns an event\n",
              static_cast<long long>(time.count()), median(off), part(.5), part(.1), part(.9),
              median(events));
}

} // namespace

int main(int argc, char** argv) {
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 15;
  if (pairs < 1 || argc > 2) {
    std::fputs("usage: tracing_cost [PAIRS]\n", stderr);
    return 2;
  }
  for (const auto time : {0ns, 1000ns, 10'000ns}) measure(time, pairs);
}
