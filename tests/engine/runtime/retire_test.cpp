// Tests of workers that an applied profile retires or calls back: other workers run their tasks.

#include "reloading.hpp"
#include "runtime/runtime.hpp"
#include "small_engine.hpp"

#include <corewise/engine/oneshot.hpp>
#include <corewise/policies/policy.hpp>
#include <corewise/policies/steal_policy.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <thread>

using namespace corewise;
using namespace corewise::tests;

namespace {

/// Waits, without a limit of its own, until every retired worker knows that it has retired, and has no task
/// left.
void wait_until_retired(const engine& e, std::size_t retired) {
  for (;;) {
    const engine_dump d = e.dump();
    const auto asleep = std::ranges::count(d.seats, seat_state::retired, &seat_dump::state);
    const bool empty = std::ranges::all_of(
        d.seats, [](const seat_dump& s) { return s.state != seat_state::retired || s.load.total() == 0; });
    if (static_cast<std::size_t>(asleep) == retired && empty && e.metrics().outdated == 0) return;
    std::this_thread::yield();
  }
}

/// Holds these workers in tasks until the gate opens. Returns when all are held.
void hold(engine& e, gate& until, std::initializer_list<std::uint32_t> workers) {
  for (const std::uint32_t w : workers)
    REQUIRE(e.submit([&] { until.pass(); }, {.worker = worker_id{w}}) == submit_result::accepted);
  until.wait_for(static_cast<int>(workers.size()));
}

/// A coroutine that waits for a value; notes the workers that run it before and after.
struct waiter {
  waiter(engine& on, const hint& wish) : e(on) {
    REQUIRE(e.submit(wait(), wish) == submit_result::accepted);
    while (e.metrics().waiting() != 0 || before == 99) std::this_thread::yield();
  }
  task<> wait() {
    before = e.this_worker()->value;
    static_cast<void>(co_await value.second.receive());
    after = e.this_worker()->value;
  }

  engine& e;
  std::pair<oneshot_sender<int>, oneshot_receiver<int>> value = make_oneshot<int>();
  std::atomic<std::uint32_t> before{99};
  std::atomic<std::uint32_t> after{99};
};

} // namespace

TEST_CASE("retire: fewer workers run the tasks that come, and all workers do when they are called back") {
  engine e(small_profile(8));
  CHECK(e.apply(small_profile(3)).applied());
  CHECK(active_workers(e) == 3);
  wait_until_retired(e, 5);
  for (const std::uint32_t w : workers_of(e, 500)) CHECK(w < 3);
  // A hint to a worker that has retired has no effect.
  for (const std::uint32_t w : workers_of(e, 20, {.worker = worker_id{7}})) CHECK(w < 3);
  const engine_dump d = e.dump();
  CHECK(d.seats[7].state == seat_state::retired);
  CHECK(d.to_text().find("retired") != std::string::npos);

  CHECK(e.apply(small_profile(8)).applied());
  CHECK(active_workers(e) == 8);
  // Eight tasks that wait for each other need eight workers.
  gate all;
  for (int i = 0; i < 8; ++i) REQUIRE(e.submit([&] { all.pass(); }) == submit_result::accepted);
  all.wait_for(8);
  all.open();
  e.drain();
}

TEST_CASE("retire: a retiring worker finishes its task, and others run the tasks that wait for it") {
  for (profile p : {small_profile(2), without_sharing(2)}) {
    CAPTURE(p.steal.policy);
    p.queues.budget = 1; // so that the tick ends with the task
    engine e(p);
    gate held;
    std::atomic<int> ran{0};
    std::atomic<std::uint32_t> wrong{0};
    hold(e, held, {1});
    const engine_dump before = e.dump();
    const std::uint32_t runner = before.seats[1].load.running != 0 ? 1 : 0;
    for (int i = 0; i < 50; ++i)
      REQUIRE(e.submit(
                  [&] {
                    if (e.this_worker()->value != 0) wrong.fetch_add(1);
                    ran.fetch_add(1);
                  },
                  {.worker = worker_id{runner}}) == submit_result::accepted);
    CHECK(e.apply(with_workers(p, 1)).applied());
    held.open();
    e.drain();
    CHECK(ran == 50);
    // Without stealing only the retired worker could have run these tasks instead; it must not.
    if (p.steal.policy == "none") CHECK(wrong == 0);
    CHECK(e.metrics().in_flight() == 0);
  }
}

TEST_CASE("retire: a coroutine whose last worker has retired goes on elsewhere") {
  for (const profile& p : {small_profile(4), without_sharing(4)}) {
    CAPTURE(p.steal.policy);
    engine e(p);
    waiter w(e, {.worker = worker_id{3}});
    CHECK(e.apply(with_workers(p, 1)).applied());
    wait_until_retired(e, 3);
    w.value.first.send(1); // from outside
    e.drain();
    CHECK(w.after == 0);
  }
}

TEST_CASE("retire: whole groups may be without workers, under every policy and steal policy") {
  profile p = two_package_profile(2);
  p.topology.machine.source = synthetic_source{"pack:4 numa:1 l3:1 core:2 pu:1"};
  p.workers.per_group.reset();
  for (const std::string_view place : policy_names())
    for (const std::string_view steal : steal_policy_names()) {
      CAPTURE(place);
      CAPTURE(steal);
      p.dispatch.policy = place;
      p.steal.policy = steal;
      engine e(with_workers(p, 8));
      CHECK(e.apply(with_workers(p, 1)).applied());
      CHECK(active_workers(e) == 1);
      wait_until_retired(e, 7);
      std::atomic<int> runs{0};
      for (int i = 0; i < 200; ++i)
        REQUIRE(e.submit([&] {
          runs.fetch_add(1);
          if (e.submit([&] { runs.fetch_add(1); }) != submit_result::accepted) std::abort();
        }) == submit_result::accepted);
      e.drain();
      CHECK(runs == 400);
      CHECK(e.metrics().total().rescued_by_timeout == 0);
    }
}

TEST_CASE("retire: tasks with a class go on elsewhere when their domain has no workers left") {
  profile p = two_package_profile(2);
  p.workers.per_group.reset();
  for (const std::string_view steal : {"nearest_half", "none"}) {
    CAPTURE(steal);
    p.steal.policy = steal;
    p.queues.budget = 1; // so that the tick ends with the task
    engine e(with_workers(p, 4));
    const group_id far{1};
    gate held;
    gate home;
    hold(e, held, {2, 3});
    hold(e, home, {0, 1});
    std::atomic<int> ran{0};
    std::atomic<int> strays{0};
    for (hint wish : {urgent, patient}) {
      wish.group = far;
      for (int i = 0; i < 20; ++i)
        REQUIRE(e.submit(
                    [&] {
                      if (e.this_worker()->value != 0) strays.fetch_add(1);
                      ran.fetch_add(1);
                    },
                    wish) == submit_result::accepted);
    }
    CHECK(e.dump().class_queues[1].latency == 20);
    CHECK(e.dump().class_queues[1].background == 20);
    CHECK(e.apply(with_workers(p, 1)).applied());
    home.open();
    if (steal != "none") // worker 0 steals them while their own workers are held
      while (ran != 40) std::this_thread::yield();
    held.open();
    e.drain();
    CHECK(ran == 40);
    CHECK(strays == 0);
    wait_until_retired(e, 3);
    CHECK(e.metrics().total().rescued_by_timeout == 0);
  }
}

TEST_CASE("retire: a coroutine with a class whose domain has no workers left goes on elsewhere") {
  profile p = two_package_profile(1);
  p.workers.per_group.reset();
  for (const std::string_view steal : {"nearest_half", "none"}) {
    CAPTURE(steal);
    p.steal.policy = steal;
    engine e(with_workers(p, 2));
    hint wish = urgent;
    wish.worker = worker_id{1};
    waiter w(e, wish);
    CHECK(e.apply(with_workers(p, 1)).applied());
    wait_until_retired(e, 1);
    w.value.first.send(1);
    e.drain();
    CHECK(w.after == 0);
  }
}

TEST_CASE(
    "retire: the number of workers in a group can go down and up again, up to the number at the start") {
  profile p = two_package_profile(3);
  engine e(p);
  for (const std::uint32_t n : {1U, 3U, 2U}) {
    p.workers.per_group = n;
    CHECK(e.apply(p).applied());
    CHECK(active_workers(e) == 2 * n);
  }
  p.workers.per_group = 4;
  const apply_result answer = e.apply(p);
  REQUIRE(answer.refused.size() == 1);
  CHECK(answer.refused.front().key == "workers.per_group");
  CHECK(active_workers(e) == 4);
}

TEST_CASE(
    "retire: a retired worker that keeps its seat through a blocking call stays retired when it returns") {
  profile p = small_profile(2);
  p.blocking.spares_max = 0;
  p.steal.policy = "none";
  engine e(p);
  gate held;
  REQUIRE(e.submit([&] { blocking([&] { held.pass(); }); }, {.worker = worker_id{1}}) ==
          submit_result::accepted);
  held.wait_for(1);
  CHECK(e.dump().seats[1].state == seat_state::blocking);
  CHECK(e.apply(with_workers(p, 1)).applied());
  CHECK(e.dump().seats[1].state == seat_state::blocking);
  held.open();
  e.drain();
  wait_until_retired(e, 1);
  CHECK(workers_of(e, 50) == std::set<std::uint32_t>{0});
}

TEST_CASE(
    "retire: a worker that is called back while its seat is lent gets no tasks until the call is over") {
  profile p = small_profile(2);
  p.blocking.spares_max = 0;
  engine e(p);
  gate held;
  REQUIRE(e.submit([&] { blocking([&] { held.pass(); }); }, {.worker = worker_id{1}}) ==
          submit_result::accepted);
  held.wait_for(1);
  const auto seats = e.dump().seats;
  const auto blocked = std::ranges::find(seats, seat_state::blocking, &seat_dump::state);
  REQUIRE(blocked != seats.end());
  for (const std::uint32_t workers : {1U, 2U}) CHECK(e.apply(with_workers(p, workers)).applied());
  std::atomic<int> runs{0};
  std::atomic<int> strays{0};
  for (int i = 0; i < 50; ++i)
    REQUIRE(e.submit([&] {
      if (*e.this_worker() == blocked->worker) strays.fetch_add(1);
      runs.fetch_add(1);
    }) == submit_result::accepted);
  while (runs != 50) std::this_thread::yield();
  CHECK(strays == 0);
  held.open();
  e.drain();
  gate both;
  for (int i = 0; i < 2; ++i) REQUIRE(e.submit([&] { both.pass(); }) == submit_result::accepted);
  both.wait_for(2);
  both.open();
  e.drain();
}

// The engine calls a worker back in two steps: first it makes the worker active, then each worker takes up
// the new rules. The test stops between the two. There the worker must keep the tasks that are sent to it,
// but knows only that it has retired.

TEST_CASE(
    "retire: a worker that is called back while it gives its tasks away keeps tasks that are sent to it") {
  const group_id far{1};
  constexpr std::uint8_t wrong = 200;
  profile p = two_package_profile(1);
  p.workers.per_group.reset();
  p.steal.policy = "none";
  engine e(with_workers(p, 2));
  runtime& inside = inside_of(e);
  group_board& board = inside.board(far);
  waiter w(e, {.worker = worker_id{1}});
  REQUIRE(w.before == 1);
  CHECK(e.apply(with_workers(p, 1)).applied());
  wait_until_retired(e, 1);

  const auto hands_over = [&] {
    board.levels.publish(0, wrong);
    while (board.levels.at(0) == wrong) inside.idle().wake_all(); // the worker shows its load last
  };
  hands_over(); // the worker knows that it has retired
  board.active = 1;
  hands_over(); // the worker may have begun this before it became active
  w.value.first.send(1);
  hands_over();
  CHECK(w.after == 99);
  CHECK(e.apply(with_workers(p, 2)).applied());
  e.drain();
  CHECK(w.after == 1);
}

TEST_CASE("retire: other workers run the tasks that wait behind a blocking call of a retiring worker") {
  profile p = without_sharing(2);
  engine e(p);
  gate held;
  std::atomic<int> ran{0};
  for (const std::uint32_t w : {0U, 1U})
    REQUIRE(e.submit(
                [&, w] {
                  for (int i = 0; i < 20; ++i)
                    if (e.submit([&] { ran.fetch_add(1); }, {.worker = worker_id{w}}) !=
                        submit_result::accepted)
                      std::abort();
                  blocking([&] { held.pass(); });
                },
                {.worker = worker_id{w}}) == submit_result::accepted);
  held.wait_for(2);
  CHECK(e.apply(with_workers(p, 1)).applied());
  while (ran != 40) std::this_thread::yield();
  held.open();
  e.drain();
  wait_until_retired(e, 1);
}
