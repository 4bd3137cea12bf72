#include "simulated_run.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/yield.hpp>
#include <corewise/simulator/random_stream.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <deque>
#include <filesystem>
#include <string>
#include <thread>

// One worker runs a script, in an engine and in the simulator, under each profile. The order of its tasks
// must be the same. So the simulator's copy of how the engine's worker goes from queue to queue cannot drift
// from it.

using namespace corewise;

namespace {

/// Decides what tasks do, by their numbers, which they have in the order in which they were made. So all
/// later tasks are the same as long as they run in the same order.
class script {
 public:
  enum class act : std::uint8_t { submit, wake };
  struct made {
    std::uint32_t number;
    task_class run_as;
  };
  enum class end : std::uint8_t { over, yields, waits };

  explicit script(std::uint64_t seed) : seed_(seed) {}

  /// The tasks from outside, while the worker is held up.
  std::vector<made> first() {
    std::vector<made> tasks;
    for (std::uint32_t i = 0; i < from_outside; ++i) tasks.push_back(make_one());
    return tasks;
  }

  /// Runs task `n`: calls `submit` and `wake_one` for what it does. Returns how it ends.
  template <class Submit, class Wake> end run(std::uint32_t n, const Submit& submit, const Wake& wake_one) {
    order_.push_back(n);
    if (order_.size() < warm_up) return end::yields;
    random_stream random(seed_, n);
    for (std::uint32_t acts = random.below(5); acts != 0; --acts)
      if (random.uniform() < 0.3)
        wake_one();
      else if (next_ < most)
        submit(make_one());
    const double u = random.uniform();
    if (next_ >= most || u < 0.5) return end::over;
    return u < 0.8 ? end::yields : end::waits;
  }

  /// The number of a task that goes on.
  std::uint32_t next_part() { return next_++; }

  const std::vector<std::uint32_t>& order() const noexcept { return order_; }

 private:
  static constexpr std::uint32_t from_outside = 60;
  /// How many tasks do nothing but yield at first. Then tasks are so short on average that an engine's worker
  /// goes from one that yields to the next without its loop.
  static constexpr std::uint32_t warm_up = 4000;
  static constexpr std::uint32_t most = warm_up + 800;

  made make_one() {
    random_stream random(~seed_, next_);
    const double u = random.uniform();
    return {next_++, u < 0.06 ? task_class::latency : u < 0.12 ? task_class::background : task_class::normal};
  }

  std::uint64_t seed_;
  std::uint32_t next_ = 0;
  std::vector<std::uint32_t> order_;
};

/// Long enough for a tick to end with it.
constexpr std::chrono::milliseconds held_up{2};

} // namespace

namespace corewise::detail {

/// A simulation that the test drives by hand.
class scripted_simulation {
 public:
  scripted_simulation(const profile& p, script& tasks)
      : tasks_(tasks),
        machine_(p),
        run_(p, machine_, workload_, options_),
        state_(run_.state_) {}

  void run() {
    (void)run_.polling_.poll(seat); // as the engine's worker, before it sleeps first
    const task_index holding = make(std::chrono::nanoseconds(held_up).count(), nobody, task_class::normal);
    run_.placing_.submit_outside(holding, 0);
    while (state_.queues.of(seat).running != holding) step();
    for (const script::made& m : tasks_.first()) run_.placing_.submit_outside(make(1, m.number, m.run_as), 0);
    while (!state_.clock.nothing_planned()) step();
  }

 private:
  static constexpr worker_id seat{0};
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};

  task_index make(std::int64_t service_ns, std::uint32_t number, task_class c) {
    const task_index t = run_.workload_.make_task(static_cast<double>(service_ns), 0);
    state_.tasks[t].run_as = c;
    state_.tasks[t].submitted_ns = state_.clock.now_ns();
    state_.measured.enters(state_.clock.now_ns());
    if (numbers_.size() <= t) numbers_.resize(t + 1);
    numbers_[t] = number;
    return t;
  }

  void step() {
    const auto e = state_.clock.take_next();
    state_.clock.move_to(e.time_ns);
    if (e.event.what == planned_event::kind::task_ends) end_of(state_.queues.of(seat).running);
    run_.handle(e.event);
  }

  /// Ends a task. Here a task that goes on later is a task of its own.
  void end_of(task_index t) {
    if (numbers_[t] == nobody) return;
    state_.debts.acts(seat);
    const task_class c = state_.tasks[t].run_as;
    const script::end how = tasks_.run(
        numbers_[t],
        [&](const script::made& m) { run_.placing_.submit_on_worker(make(1, m.number, m.run_as), seat); },
        [&] {
          if (waiting_.empty()) return;
          const script::made m = waiting_.front();
          waiting_.pop_front();
          run_.placing_.wake_task(make(1, m.number, m.run_as), seat);
        });
    if (how == script::end::yields) run_.placing_.yield(make(1, tasks_.next_part(), c), seat);
    if (how == script::end::waits) waiting_.push_back({tasks_.next_part(), c});
  }

  script& tasks_;
  workload workload_;
  simulation_options options_;
  simulated_machine machine_;
  simulated_run run_;
  simulated_state& state_;
  std::vector<std::uint32_t> numbers_; // by place in the pool
  std::deque<script::made> waiting_;
};

} // namespace corewise::detail

namespace {

/// The same script in an engine.
class scripted_engine {
 public:
  scripted_engine(const profile& p, script& tasks) : tasks_(tasks), engine_(p) {}

  /// Runs until `parts` tasks have run. Returns the times at which they ran.
  std::vector<std::chrono::steady_clock::time_point> run(std::size_t parts) {
    ran_at_.reserve(parts + 100);
    while (engine_.metrics().workers.front().parks == 0) std::this_thread::yield();
    std::atomic<bool> holds{false};
    std::atomic<bool> go{false};
    REQUIRE(engine_.submit([&] {
      holds = true;
      while (!go) std::this_thread::yield();
      for (const auto until = clock::now() + held_up; clock::now() < until;) {
      }
    }) == submit_result::accepted);
    while (!holds) std::this_thread::yield();
    for (const script::made& m : tasks_.first()) submit(m);
    go = true;
    const auto until = clock::now() + std::chrono::seconds{20};
    while (run_ < parts && clock::now() < until) std::this_thread::sleep_for(std::chrono::microseconds{200});
    std::this_thread::sleep_for(std::chrono::milliseconds{1}); // nothing more comes
    closing_ = true;
    for (event* e : waiting_) e->set();
    engine_.drain();
    return std::move(ran_at_);
  }

 private:
  using clock = std::chrono::steady_clock;

  void submit(const script::made& m) {
    REQUIRE(engine_.submit(one(m.number), {.run_as = m.run_as}) == submit_result::accepted);
  }

  task<> one(std::uint32_t number) {
    for (;;) {
      const script::end how = tasks_.run(
          number, [&](const script::made& m) { submit(m); },
          [&] {
            if (waiting_.empty()) return;
            event* const e = waiting_.front();
            waiting_.pop_front();
            e->set();
          });
      ran_at_.push_back(clock::now());
      ++run_;
      if (how == script::end::over) co_return;
      number = tasks_.next_part();
      if (how == script::end::yields) {
        co_await yield();
      } else {
        event goes_on;
        waiting_.push_back(&goes_on);
        co_await goes_on.wait();
        if (closing_) co_return;
      }
    }
  }

  script& tasks_;
  std::deque<event*> waiting_;
  std::atomic<std::size_t> run_{0};
  std::atomic<bool> closing_{false};
  std::vector<clock::time_point> ran_at_;
  engine engine_; // ends first
};

/// A profile of one worker with small queues, so that they overflow, and with nothing that depends on how
/// fast tasks are.
profile one_worker(const std::filesystem::path& file) {
  profile p = load_profile(file);
  p.topology.machine = {};
  p.topology.machine.source = synthetic_source{"pack:1 numa:1 core:1 pu:1"};
  p.workers = {};
  p.workers.total = 1;
  p.workers.pin = pin_to::none;
  p.strict = false;
  p.limits = {};
  p.queues.local = 16;
  if (p.queues.inbox) p.queues.inbox = 8;
  p.queues.budget = std::min(p.queues.budget, 48U);
  p.injection.interval.max = p.injection.interval.min;
  p.queues.oldest_first.reset();
  p.idle.park_timeout = {.kind = park_timeout_setting::mode::never, .fixed = {}};
  return p;
}

/// Returns whether no tick has ended by time, which would have ended by tasks in the simulator.
bool undisturbed(const std::vector<std::chrono::steady_clock::time_point>& ran_at, std::size_t budget) {
  for (std::size_t i = 0; i + budget < ran_at.size(); ++i)
    if (ran_at[i + budget] - ran_at[i] > tick_time / 2) return false;
  return true;
}

constexpr int tries = 100;

void compare_orders(const profile& p, std::uint64_t seed) {
  script simulated(seed);
  detail::scripted_simulation(p, simulated).run();
  REQUIRE(simulated.order().size() > 4000);
  for (int i = 0; i < tries; ++i) {
    script live(seed);
    const auto ran_at = scripted_engine(p, live).run(simulated.order().size());
    if (rules_of(p.queues.discipline).lifo_counts == lifo_count::in_a_tick &&
        !undisturbed(ran_at, p.queues.budget))
      continue;
    const std::vector<std::uint32_t>&a = live.order(), &b = simulated.order();
    const auto same = std::ranges::mismatch(a, b).in1 - a.begin();
    CAPTURE(same); // how many tasks ran in the same order
    CHECK(std::vector(a.begin() + same, a.end()) == std::vector(b.begin() + same, b.end()));
    return;
  }
  MESSAGE("skipped: the worker was never left alone for long enough");
}

} // namespace

TEST_CASE("a worker runs the same tasks in the same order, in an engine and simulated, under each profile") {
  int profiles = 0;
  for (const auto& entry : std::filesystem::directory_iterator(COREWISE_SOURCE_DIR "/configs")) {
    if (entry.path().extension() != ".yaml") continue;
    ++profiles;
    const profile p = one_worker(entry.path());
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      CAPTURE(entry.path().filename().string());
      CAPTURE(seed);
      compare_orders(p, seed);
    }
  }
  CHECK(profiles >= 10);
}
