#include "queues/local_queue.hpp"
#include "system_engine.hpp"
#include "within.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

std::uint64_t lifo_runs_beyond_three_a_tick(const profile& p) {
  engine e(p);
  chain(e, 20'000);
  e.drain();
  const worker_metrics w = e.metrics().total();
  CHECK(w.lifo_runs > 0);
  const std::uint64_t most = 3 * (w.ticks + p.workers.total.value());
  return w.lifo_runs > most ? w.lifo_runs - most : 0;
}

/// Returns the order in which one worker runs 50 tasks of its own and 40 tasks that come from outside
/// meanwhile, which have numbers from 0.
std::vector<int> order_of_a_batch(const profile& p) {
  engine e(p);
  std::vector<int> order; // only one worker writes it
  gate held;
  const auto first = [&] {
    for (int i = 0; i < 50; ++i)
      if (e.submit([&] { order.push_back(-1); }) != submit_result::accepted) std::abort();
    held.pass();
  };
  REQUIRE(e.submit(first) == submit_result::accepted);
  held.wait_for(1);
  for (int i = 0; i < 40; ++i) REQUIRE(e.submit([&, i] { order.push_back(i); }) == submit_result::accepted);
  held.open();
  e.drain();
  return order;
}

/// Returns how many tasks from outside ran one after another, from the first one on.
int run_together(const std::vector<int>& order) {
  auto at = std::ranges::find(order, 0);
  int n = 0;
  while (at != order.end() && *at == n) ++at, ++n;
  return n;
}

} // namespace

TEST_CASE("volt: at most 3 tasks a tick run from the slot") {
  profile p = system_profile("volt", 1);
  CHECK(lifo_runs_beyond_three_a_tick(p) == 0);
  p.workers.total = 2;
  CHECK(lifo_runs_beyond_three_a_tick(p) == 0);
  p.queues.discipline = discipline::standard; // shows that the check can fail
  CHECK(lifo_runs_beyond_three_a_tick(p) > 0);
}

TEST_CASE("volt: of a batch from the global queue 32 run before the local tasks, the rest behind them") {
  profile p = system_profile("volt", 1);
  const std::vector<int> order = order_of_a_batch(p);
  REQUIRE(order.size() == 90);
  CHECK(order.front() == -1); // the batch is taken when it is due
  CHECK(run_together(order) == 1 + 32);
  CHECK(order.back() == 39);
  p.queues.discipline = discipline::standard;
  CHECK(run_together(order_of_a_batch(p)) == 1);
}

TEST_CASE("volt: a worker looks at the global queue although it has local tasks") {
  engine e(system_profile("volt", 1));
  std::atomic<bool> stop{false};
  std::function<void()> endless = [&] {
    if (!stop && e.submit(endless) != submit_result::accepted) std::abort();
  };
  for (int i = 0; i < 3; ++i) REQUIRE(e.submit(endless) == submit_result::accepted);
  REQUIRE(e.submit([&] { stop = true; }) == submit_result::accepted);
  e.drain();
  CHECK(stop);
}

TEST_CASE("volt: a thief takes half of the ring, rounded up, at most 128") {
  const std::uint32_t most = system_profile("volt", 1).steal.batch_max;
  corewise::detail::sole_taker takers(false);
  for (const auto& [waiting, half] :
       {std::pair{1U, 1U}, {2U, 1U}, {3U, 2U}, {7U, 4U}, {255U, 128U}, {256U, 128U}}) {
    board_entry entry;
    std::vector<corewise::detail::local_queue::cell> cells(256);
    corewise::detail::local_queue ring(entry, cells, takers);
    std::vector<task_header> tasks(waiting);
    for (task_header& t : tasks) REQUIRE(ring.push(&t));
    CHECK(ring.steal(most).size == half);
  }
  board_entry entry;
  std::vector<corewise::detail::local_queue::cell> cells(512);
  corewise::detail::local_queue larger(entry, cells, takers);
  std::vector<task_header> tasks(512);
  for (task_header& t : tasks) REQUIRE(larger.push(&t));
  CHECK(larger.steal(most).size == 128);
}

TEST_CASE("volt: thieves visit victims by number, from a random one on") {
  situation s(build(one_kind(1, 6)));
  s.load(0, 5, 2);
  steal_tours tours(s, system_profile("volt", 1).steal.policy);
  std::vector<int> first(6);
  for (int i = 0; i < 600; ++i) {
    const auto victims = tours.victims(5);
    REQUIRE(victims.size() == 5);
    for (std::size_t k = 1; k < 5; ++k) REQUIRE(victims[k] == (victims[k - 1] + 1) % 5);
    ++first[victims[0]];
  }
  for (std::uint32_t w = 0; w < 5; ++w) CHECK(first[w] > 40);
}

TEST_CASE("volt: sleepers look for work every 10 ms") {
  const auto begin = std::chrono::steady_clock::now();
  engine e(system_profile("volt", 2));
  metrics_snapshot m;
  CHECK(within(60s, [&] {
    m = e.metrics();
    return std::ranges::all_of(m.workers, [](const worker_metrics& w) { return w.timeouts >= 3; });
  }));
  const auto periods = (std::chrono::steady_clock::now() - begin) / std::chrono::milliseconds{10};
  for (const worker_metrics& w : m.workers) CHECK(w.timeouts <= static_cast<std::uint64_t>(periods) + 1);
}

TEST_CASE("volt: the sleeper with the lowest number is woken, for any target of the task") {
  profile p = system_profile("volt", 3);
  p.idle.park_timeout.kind = park_timeout_setting::mode::never; // no worker is awake by chance
  engine e(p);
  std::atomic<int> by_lowest{0};
  for (int i = 0; i < 50; ++i) {
    settle(e);
    REQUIRE(e.submit([&] { by_lowest += e.this_worker()->value == 0 ? 1 : 0; }, {.worker = worker_id{2}}) ==
            submit_result::accepted);
    e.drain();
  }
  CHECK(by_lowest == 50);
  CHECK(stolen_of(e.metrics().workers[0]) == 50);
}
