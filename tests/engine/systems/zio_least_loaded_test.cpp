#include "queues/worker_queues.hpp"
#include "system_engine.hpp"

#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <random>

using namespace corewise;
using namespace corewise::tests;

namespace {

/// The queues of a pool without threads, and beside them the counters as the original keeps them: +1 and -1.
class counted_pool {
 public:
  static constexpr std::size_t workers = 3;
  static constexpr std::size_t ring = 16;

  counted_pool() {
    for (std::size_t w = 0; w < workers; ++w)
      queues_.push_back(std::make_unique<corewise::detail::worker_queues>(
          corewise::detail::queue_memory{slots_[w], rings_[w], inboxes_[w]}, takers_));
  }

  void submit(std::size_t w) {
    if (!queues_[w]->in.push(make())) return void(--made_);
    ++counter_[w];
  }
  /// Pushes a task of the worker's own, or one that yields.
  void push(std::size_t w) { store(w, make()); }
  void dequeue(std::size_t w) {
    if (queues_[w]->ring.pop() == nullptr && queues_[w]->in.pop() == nullptr) return;
    --counter_[w];
  }
  void steal(std::size_t thief, std::size_t victim) {
    if (thief == victim) return;
    corewise::detail::task_chain stolen = queues_[victim]->ring.steal(static_cast<std::uint32_t>(ring / 2));
    while (task_header* t = stolen.pop()) {
      --counter_[victim];
      store(thief, t);
    }
  }

  /// Returns the loads that the board shows, by worker.
  std::vector<std::int64_t> board() const {
    const load_view view({}, machine_.workers(), ring, 64);
    std::vector<std::int64_t> shown;
    for (const board_entry& slot : slots_) shown.push_back(view.load(slot).queued);
    return shown;
  }
  const std::vector<std::int64_t>& counters() const { return counter_; }
  std::uint32_t overflowed() const { return global_.size(); }

 private:
  task_header* make() { return &tasks_.at(made_++); }
  void store(std::size_t w, task_header* t) {
    ++counter_[w];
    if (queues_[w]->ring.push(t)) return;
    corewise::detail::task_chain excess = queues_[w]->ring.shed();
    excess.push(t);
    counter_[w] -= excess.size; // one for each task that migrates
    global_.push(excess);
  }

  situation machine_{build(one_kind(1, workers))};
  board_entry slots_[workers];
  std::vector<corewise::detail::local_queue::cell> rings_[workers] = {
      std::vector<corewise::detail::local_queue::cell>(ring),
      std::vector<corewise::detail::local_queue::cell>(ring),
      std::vector<corewise::detail::local_queue::cell>(ring)};
  std::vector<corewise::detail::inbox::cell> inboxes_[workers] = {
      std::vector<corewise::detail::inbox::cell>(64), std::vector<corewise::detail::inbox::cell>(64),
      std::vector<corewise::detail::inbox::cell>(64)};
  corewise::detail::sole_taker takers_{false};
  std::vector<std::unique_ptr<corewise::detail::worker_queues>> queues_;
  corewise::detail::injection_queue global_;
  std::vector<std::int64_t> counter_ = std::vector<std::int64_t>(workers);
  std::vector<task_header> tasks_ = std::vector<task_header>(200'000);
  std::size_t made_ = 0;
};

} // namespace

TEST_CASE("zio-least-loaded: after each step the board shows the same as counters of +1 and -1") {
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  counted_pool pool;
  const auto any = [&] { return random() % counted_pool::workers; };
  for (int step = 0; step < 100'000; ++step) {
    switch (random() % 5) {
    case 0: pool.submit(any()); break;
    case 1: pool.push(any()); break;
    case 2: pool.dequeue(any()); break;
    case 3: pool.steal(any(), any()); break;
    default: pool.push(0); break; // so that rings overflow
    }
    REQUIRE(pool.board() == pool.counters());
  }
  CHECK(pool.overflowed() > 0);
}

TEST_CASE("zio-least-loaded: the engine's loads follow the counters, step by step") {
  static thread_local std::uint32_t mine = 0;
  engine_hooks hooks;
  hooks.on_worker_start = [](worker_id w) { mine = w.value; };
  engine e(system_profile("zio-least-loaded", 2), hooks);
  std::vector<gate> gates(2);
  const auto load = [&](std::size_t w) { return e.metrics().workers[w].load - 1; }; // less the task that runs
  for (int i = 0; i < 2; ++i) REQUIRE(e.submit([&] { gates[mine].pass(); }) == submit_result::accepted);
  for (gate& g : gates) g.wait_for(1); // one on each worker, whichever worker stole
  CHECK(load(0) == 0);
  CHECK(load(1) == 0);
  const auto nothing = [] {};
  for (std::uint64_t i = 1; i <= 5; ++i) { // submit: +1 on the target, which is the least loaded
    REQUIRE(e.submit(nothing) == submit_result::accepted);
    CHECK(load(0) == (i + 1) / 2); // ties to the lowest index
    CHECK(load(1) == i / 2);
  }
  gate then;
  REQUIRE(e.submit([&] { then.pass(); }, {.worker = worker_id{1}}) == submit_result::accepted);
  CHECK(load(1) == 3);
  gates[1].open(); // dequeue: -1 each; worker 1 runs its two tasks, and waits in the third
  then.wait_for(1);
  CHECK(load(0) == 3);
  CHECK(load(1) == 0);
  then.open();
  gates[0].open();
  e.drain();
}

TEST_CASE(
    "zio-least-loaded: overflow lowers the counter by one for each task that goes to the global queue") {
  engine e(system_profile("zio-least-loaded", 2));
  gate other;
  gate filled;
  worker_id filler;
  REQUIRE(e.submit([&] { other.pass(); }) == submit_result::accepted);
  other.wait_for(1);
  const auto fill = [&] {
    filler = *e.this_worker();
    for (int i = 0; i < 300; ++i)
      if (e.submit([] {}, {.worker = filler}) != submit_result::accepted) std::abort();
    filled.pass();
  };
  REQUIRE(e.submit(fill) == submit_result::accepted);
  filled.wait_for(1);
  CHECK(e.metrics().workers[filler.value].load == 300 - 129 + 1);
  CHECK(e.metrics().injected == 129);
  filled.open();
  other.open();
  e.drain();
}

TEST_CASE("zio-least-loaded: the sweep takes only a strictly smaller counter, clamps negative ones to 0 and "
          "skips blocked workers") {
  situation s(build(one_kind(2, 4)), system_profile("zio-least-loaded", 1).dispatch.policy.c_str());
  s.load(0, 7, 3);
  CHECK(s.place(s.on_cpu(0)).worker.value == 0);
  s.boards().set_load({6}, worker_load{1, 1, 1});
  s.boards().set_load({7}, worker_load{1, 0, 0});
  CHECK(s.place(s.on_cpu(0)).worker.value == 6); // neither the slot nor the running task counts
  s.boards().set_unavailable({6});
  CHECK(s.place(s.on_cpu(0)).worker.value == 7);
  s.boards().set_load({2}, worker_load{0, 0, 1});
  board_entry& five = s.view().board(s.workers()[{5}].group).entries[1];
  five.owner.ring_tail.store(3, std::memory_order_relaxed);
  five.shared.ring_head.store(std::uint64_t{5} << 32 | 5, std::memory_order_relaxed); // reads -2
  CHECK(s.place(s.on_cpu(0)).worker.value == 2);
  s.boards().set_load({2}, 3);
  CHECK(s.place(s.on_cpu(0)).worker.value == 5);
  CHECK(s.place(s.on_cpu(0)).score == 0);
}
