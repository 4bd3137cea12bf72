#include "counts.hpp"
#include "runtime/runtime.hpp"
#include "small_engine.hpp"

#include <corewise/policies/reference.hpp>
#include <corewise/policies/still_boards.hpp>
#include <corewise/topology/binding.hpp>

#include <doctest/doctest.h>
#include <sched.h>

#include <latch>
#include <random>
#include <thread>

using namespace corewise;

namespace {

/// Two packages of 3 fast and 3 slow cores: twelve workers in four groups.
profile two_hybrid_packages() {
  profile p = small_profile(0);
  p.workers.total.reset();
  auto& machine = p.topology.machine;
  machine.source = synthetic_source{"pack:2 numa:1 l3:1 core:6 pu:1"};
  machine.kinds = {{*cpu_set::parse("0-2,6-8"), "P", 1024}, {*cpu_set::parse("3-5,9-11"), "E", 500}};
  p.steal.policy = "none"; // a placed task stays where it was placed
  p.idle.park_timeout.kind = park_timeout_setting::mode::never;
  return p;
}

/// Holds an engine's workers in a chosen state: load n is one task at the gate and n - 1 queued behind it.
class held_engine {
 public:
  explicit held_engine(const profile& p) : e_(p) {}

  void load(worker_id w, int n) {
    for (int i = 0; i < n; ++i) {
      REQUIRE(e_.submit(
                  [this, i] {
                    if (i == 0) gate_.pass();
                  },
                  {.worker = w}) == submit_result::accepted);
      if (i == 0) gate_.wait_for(++running_);
    }
  }

  /// Returns the worker to which the engine sends a task from outside.
  worker_id ask_from_outside() {
    std::atomic<std::uint32_t> answer{nobody};
    REQUIRE(e_.submit([&] { tell(answer); }) == submit_result::accepted);
    gate_.open();
    answer.wait(nobody);
    e_.drain();
    return {answer};
  }

  /// Returns the worker to which the engine sends a task from worker `from`, which runs only the task that
  /// asks.
  worker_id ask_from(worker_id from) {
    std::atomic<std::uint32_t> answer{nobody};
    gate asked;
    REQUIRE(e_.submit(
                [&] {
                  if (e_.submit([&] { tell(answer); }) != submit_result::accepted) std::abort();
                  asked.pass();
                },
                {.worker = from}) == submit_result::accepted);
    asked.wait_for(1);
    asked.open();
    gate_.open();
    answer.wait(nobody);
    e_.drain();
    return {answer};
  }

  /// Waits until all workers but those at the gate sleep, so that their bits say so.
  void settle() {
    const auto asleep = [&] {
      const worker_metrics all = e_.metrics().total();
      return all.parks - all.wakes;
    };
    while (asleep() != e_.workers().size() - static_cast<std::size_t>(running_)) std::this_thread::yield();
  }

  engine& get() { return e_; }

 private:
  static constexpr std::uint32_t nobody = ~0U;

  void tell(std::atomic<std::uint32_t>& answer) {
    answer = e_.this_worker()->value;
    answer.notify_all();
  }

  gate gate_;
  engine e_;
  int running_ = 0;
};

/// Returns the rule's answer in the state that the boards show.
worker_id rule(engine& e, const still_boards& boards, const task_origin& origin) {
  return place_by_trying_all(e.groups(), boards.view(), dispatch_weights{}, origin, {}).worker;
}

} // namespace

TEST_CASE("placing: in random states the engine sends a task to the worker that the rule names") {
  const std::uint32_t seed = std::random_device{}();
  MESSAGE("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < tests::count_of(100, 1000); ++round) {
    CAPTURE(round);
    held_engine held(two_hybrid_packages());
    engine& e = held.get();
    still_boards still(e.groups(), e.workers());
    const bool outside = round % 2 == 0;
    const worker_id from{static_cast<std::uint32_t>(random() % e.workers().size())};
    for (const worker_place& p : e.workers().workers()) {
      const std::uint32_t n = !outside && p.id == from ? 0 : random() % 4;
      held.load(p.id, static_cast<int>(n));
      still.set_load(p.id, n);
    }
    held.settle();
    if (outside) {
      // The machine is a described one, so the engine draws the home domain at random: either may be it.
      const std::uint32_t answer = held.ask_from_outside().value;
      const bool right = answer == rule(e, still, {group_id{0}, {}}).value ||
                         answer == rule(e, still, {group_id{2}, {}}).value;
      CHECK(right);
    } else {
      still.set_load(from, 1); // the worker runs the task that asks
      const worker_id expected = rule(e, still, {e.workers()[from].group, from});
      CHECK(held.ask_from(from).value == expected.value);
    }
  }
}

TEST_CASE("placing: when all workers have many short tasks, a task from a worker's core goes to that worker, "
          "and others steal the tasks that it does not reach") {
  profile p = small_profile(0);
  p.workers.total.reset(); // one worker for each core
  engine e(p);
  runtime& inside = inside_of(e);
  const std::uint32_t cpu = this_thread_affinity().first();
  REQUIRE(e.workers().at_cpu(cpu));
  const worker_place& here = e.workers()[*e.workers().at_cpu(cpu)];
  gate held_here;
  gate held_others;
  for (const worker_place& w : e.workers().workers()) {
    gate& held = w.id == here.id ? held_here : held_others;
    REQUIRE(e.submit([&held] { held.pass(); }, {.worker = w.id}) == submit_result::accepted);
  }
  held_here.wait_for(1);
  held_others.wait_for(static_cast<int>(e.workers().size() - 1));
  // No worker ends a tick now, so none notes another time.
  inside.board(here.group).task_time_ns.store(100, std::memory_order_relaxed);
  const std::size_t tasks = 400 * e.workers().size();
  std::latch left(static_cast<std::ptrdiff_t>(tasks));
  std::jthread([&] { // this thread is tied to one CPU for good
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    REQUIRE(sched_setaffinity(0, sizeof(only), &only) == 0);
    for (std::size_t i = 0; i < tasks; ++i)
      REQUIRE(e.submit([&left] { left.count_down(); }) == submit_result::accepted);
  })
      .join();
  const engine_dump now = e.dump();
  for (const worker_place& w : e.workers().workers()) {
    if (w.id == here.id) continue;
    CAPTURE(w.id.value);
    CHECK(now.seats[w.id.value].inbox_depth >= 128); // this worker had its turns before
    CHECK(now.seats[here.id.value].inbox_depth >= now.seats[w.id.value].inbox_depth + 96);
  }
  held_others.open();
  if (e.workers().size() > 1) left.wait(); // while the task of the worker `here` goes on
  held_here.open();
  e.drain();
}
