#include "runtime/runtime.hpp"
#include "small_engine.hpp"

#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>

using namespace corewise;

namespace {

std::uint64_t active_workers(const engine& e) { return e.metrics().total().active; }

/// Submits this many tasks from outside, all at once. Returns the workers that run them.
std::set<std::uint32_t> who_runs(engine& e, int tasks, const hint& wish = {}) {
  std::mutex mutex;
  std::set<std::uint32_t> who;
  for (int i = 0; i < tasks; ++i)
    REQUIRE(e.submit(
                [&] {
                  const std::uint32_t me = e.this_worker()->value;
                  const std::scoped_lock lock(mutex);
                  who.insert(me);
                },
                wish) == submit_result::accepted);
  e.drain();
  return who;
}

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

profile with_workers(profile p, std::uint32_t total) {
  p.workers.total = total;
  return p;
}

/// A profile like Nio's: no worker steals, inboxes are unbounded, and workers share no queue.
profile without_sharing(std::uint32_t workers) {
  profile p = small_profile(workers);
  p.steal.policy = "none";
  p.queues.inbox.reset();
  p.injection.scope = injection_scope::none;
  p.dispatch.policy = "lightest";
  return p;
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
    static_cast<void>(co_await value.receive());
    after = e.this_worker()->value;
  }

  engine& e;
  oneshot<int> value;
  std::atomic<std::uint32_t> before{99};
  std::atomic<std::uint32_t> after{99};
};

} // namespace

TEST_CASE("apply: the new profile holds as a whole, and the engine shows it") {
  engine e(small_profile(3));
  profile p = small_profile(3);
  p.name = "another";
  p.dispatch.policy = "round_robin";
  p.dispatch.weights.score = score_kind::count;
  p.steal.policy = "random_half";
  p.queues.lifo_cap = 0;
  p.queues.budget = 7;
  p.injection.target_latency = std::chrono::microseconds{100};
  p.idle.spin = std::chrono::microseconds{0};
  p.blocking.spares_max = 1;
  p.on_exception = exception_action::report;
  CHECK(e.apply(p).applied());
  CHECK(e.configuration().name == "another");
  CHECK(e.configuration().dispatch.policy == "round_robin");
  CHECK(e.metrics().reloads == 1);
  while (e.metrics().outdated != 0) std::this_thread::yield();
  e.drain();
  REQUIRE(e.submit([] { throw std::runtime_error("reported"); }) == submit_result::accepted);
  e.drain();
  CHECK(e.metrics().failed == 1);
}

TEST_CASE("apply: the new policy places the next task") {
  profile p = small_profile(4);
  p.steal.policy = "none";
  p.dispatch.policy = "lightest";
  engine e(p);
  p.dispatch.policy = "round_robin";
  CHECK(e.apply(p).applied());
  CHECK(who_runs(e, 4) == std::set<std::uint32_t>{0, 1, 2, 3});
}

TEST_CASE("apply: a profile that needs a restart is refused as a whole, with each such key and the reason") {
  engine e(small_profile(2));
  profile p = small_profile(3);
  p.name = "another";
  p.dispatch.policy = "random";
  p.topology.groups.group_by = domain_kind::package;
  p.queues.local = 64;
  p.queues.inbox = 2;
  p.injection.scope = injection_scope::engine;
  p.workers.memory = memory_on::anywhere;
  p.workers.pin = pin_to::core;
  p.limits.in_flight = 10;
  const apply_result answer = e.apply(p);
  CHECK_FALSE(answer.applied());
  std::set<std::string> keys;
  for (const auto& r : answer.refused) {
    keys.insert(r.key);
    CHECK_FALSE(r.why.empty());
  }
  CAPTURE(answer.to_text());
  CHECK(keys == std::set<std::string>{"topology.group_by", "queues.local", "queues.inbox", "injection.scope",
                                      "workers.memory", "workers.pin", "limits.in_flight", "workers.total"});
  CHECK(answer.to_text().find("queues.local: found \"64\"; the engine runs with \"256\" until a restart\n") !=
        std::string::npos);
  CHECK(e.configuration().name == "default");
  CHECK(e.configuration().dispatch.policy == "nearest_lightest");
  CHECK(e.metrics().reloads == 0);
  CHECK(active_workers(e) == 2);
}

TEST_CASE("apply: an invalid profile is an error that lists all of its errors, and nothing changes") {
  engine e(small_profile(2));
  profile p = small_profile(1);
  p.dispatch.policy = "best";
  p.queues.inbox.reset();
  try {
    static_cast<void>(e.apply(p));
    FAIL("it was taken");
  } catch (const profile_error& error) {
    CHECK(error.issues().size() == 2);
  }
  CHECK(active_workers(e) == 2);
  CHECK(e.configuration().dispatch.policy == "nearest_lightest");
}

TEST_CASE("apply: an engine that is shutting down refuses") {
  engine e(small_profile(1));
  CHECK(e.shutdown(std::chrono::seconds{60}).clean());
  const apply_result answer = e.apply(small_profile(1));
  REQUIRE(answer.refused.size() == 1);
  CHECK(answer.refused.front().key.empty());
}

TEST_CASE("apply: a task may call it") {
  engine e(small_profile(4));
  for (const std::uint32_t workers : {1U, 4U, 2U}) {
    REQUIRE(e.submit([&] { CHECK(e.apply(small_profile(workers)).applied()); }) == submit_result::accepted);
    e.drain();
    CHECK(active_workers(e) == workers);
  }
}

TEST_CASE("apply: a limit may change or vanish, and submitters that wait for room go on") {
  profile p = small_profile(2);
  p.limits.in_flight = 1;
  p.limits.on_full = full_action::wait;
  engine e(p);
  gate held;
  REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
  std::thread waiting([&] { CHECK(e.submit([&] { held.pass(); }) == submit_result::accepted); });
  p.limits.in_flight = 2;
  CHECK(e.apply(p).applied());
  waiting.join();
  p.limits.on_full = full_action::reject;
  CHECK(e.apply(p).applied());
  CHECK(e.submit([] {}) == submit_result::full);
  p.limits.in_flight = 0;
  CHECK(e.apply(p).applied());
  CHECK(e.submit([] {}) == submit_result::accepted);
  held.open();
  e.drain();
}

TEST_CASE("retire: fewer workers run the tasks that come, and all workers do when they are called back") {
  engine e(small_profile(8));
  CHECK(e.apply(small_profile(3)).applied());
  CHECK(active_workers(e) == 3);
  wait_until_retired(e, 5);
  for (const std::uint32_t w : who_runs(e, 500)) CHECK(w < 3);
  // A hint to a worker that has retired has no effect.
  for (const std::uint32_t w : who_runs(e, 20, {.worker = worker_id{7}})) CHECK(w < 3);
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
    w.value.send(1); // from outside
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
    w.value.send(1);
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
  CHECK(who_runs(e, 50) == std::set<std::uint32_t>{0});
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
  w.value.send(1);
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

TEST_CASE("apply: newly allowed spare threads take over seats that are blocked already") {
  profile p = small_profile(1);
  p.blocking.spares_max = 0;
  engine e(p);
  gate held;
  REQUIRE(e.submit([&] { blocking([&] { held.pass(); }); }) == submit_result::accepted);
  held.wait_for(1);
  gate ran;
  REQUIRE(e.submit([&] { ran.pass(); }) == submit_result::accepted);
  p.blocking.spares_max = 1;
  CHECK(e.apply(p).applied());
  ran.wait_for(1);
  ran.open();
  held.open();
  e.drain();
}

namespace {

/// Applies one profile after another, chosen by `choose(n)`, while tasks of all sorts run.
template <class Choose> void reload_under_load(const profile& begin, int reloads, const Choose& choose) {
  constexpr int threads = 3;
  engine e(begin);
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> runs{0};
  const auto nap = [&]() -> task<> {
    for (int i = 0; i < 3; ++i) co_await yield();
    runs.fetch_add(1);
  };
  std::vector<std::thread> submitters;
  for (int t = 0; t < threads; ++t)
    submitters.emplace_back([&] {
      for (std::uint64_t n = 0; !over; ++n) {
        if (e.submit([&] {
              runs.fetch_add(1);
              if (e.submit([&] { runs.fetch_add(1); }) == submit_result::accepted) accepted.fetch_add(1);
            }) == submit_result::accepted)
          accepted.fetch_add(1);
        if (e.submit(nap()) == submit_result::accepted) accepted.fetch_add(1);
        if (e.submit([&] { runs.fetch_add(1); }, n % 2 == 0 ? urgent : patient) == submit_result::accepted)
          accepted.fetch_add(1);
        if (n % 16 == 0 && e.submit(nap(), n % 32 == 0 ? urgent : patient) == submit_result::accepted)
          accepted.fetch_add(1);
        if (n % 64 == 63) e.drain();
      }
    });
  for (int n = 0; n < reloads; ++n) {
    const apply_result answer = e.apply(choose(n));
    CHECK_MESSAGE(answer.applied(), answer.to_text());
    std::this_thread::sleep_for(std::chrono::milliseconds{2}); // so that tasks run under it
  }
  over = true;
  for (std::thread& t : submitters) t.join();
  e.drain();
  CHECK(runs == accepted);
  CHECK(e.metrics().in_flight() == 0);
  CHECK(e.metrics().total().rescued_by_timeout == 0);
  // Each worker takes up the last rules, busy or not.
  while (e.metrics().outdated != 0) std::this_thread::yield();
}

} // namespace

TEST_CASE(
    "apply: under load, with all policies and from 8 workers to 1 and back, no task is lost or runs twice") {
  const auto policies = policy_names();
  const auto steals = steal_policy_names();
  reload_under_load(small_profile(8), 150, [&](int n) {
    const auto i = static_cast<std::size_t>(n);
    profile p = small_profile(n % 3 == 0 ? 1 : n % 3 == 1 ? 8 : 1 + static_cast<std::uint32_t>(n) % 8);
    p.dispatch.policy = policies[i % policies.size()];
    p.steal.policy = steals[i / 3 % steals.size()];
    p.queues.lifo_cap = n % 4 == 0 ? 0 : 3;
    p.queues.lifo_age.reset();
    if (n % 5 != 0) p.queues.lifo_age = std::chrono::microseconds{50};
    if (n % 7 == 0) p.idle.park_timeout.kind = park_timeout_setting::mode::never;
    return p;
  });
}

TEST_CASE(
    "apply: under load, without stealing and shared queues, from 8 workers to 1 and back, no task is lost") {
  reload_under_load(without_sharing(8), 100, [&](int n) {
    profile p = without_sharing(n % 2 == 0 ? 1 : 8);
    p.dispatch.policy = n % 3 == 0 ? "lightest" : n % 3 == 1 ? "local_first" : "round_robin";
    return p;
  });
}

TEST_CASE(
    "apply: under load, whole domains of fast and slow workers come and go, with and without stealing") {
  profile begin = two_package_profile(4);
  begin.workers.per_group.reset();
  begin.topology.machine.source = synthetic_source{"pack:2 numa:1 l3:1 core:4 pu:1"};
  begin.topology.machine.kinds = {{*cpu_set::parse("0-1,4-5"), "P", 1024},
                                  {*cpu_set::parse("2-3,6-7"), "E", 500}};
  begin = with_workers(begin, 8);
  reload_under_load(begin, 100, [&](int n) {
    profile p = with_workers(begin, n % 2 == 0 ? 1 + static_cast<std::uint32_t>(n) % 3 : 8);
    if (n % 4 >= 2) p.steal.policy = "none";
    return p;
  });
}

TEST_CASE("apply: several threads may call it at once") {
  engine e(small_profile(4));
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < 50; ++i) {
        CHECK(e.apply(small_profile(1 + (i + t) % 4)).applied());
        CHECK(e.submit([] {}) == submit_result::accepted);
      }
    });
  for (std::thread& t : threads) t.join();
  e.drain();
  CHECK(e.metrics().reloads == 200);
  const std::uint64_t active = active_workers(e);
  CHECK(active == e.configuration().workers.total);
}

TEST_CASE("apply: a thread's tasks keep their order, although a policy that injects came and went") {
  profile by_load = small_profile(1);
  by_load.queues.inbox = 2;
  profile injecting = by_load;
  injecting.dispatch.policy = "global_queue";
  std::vector<int> order;
  gate held;
  engine e(by_load);
  REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
  held.wait_for(1);
  int next = 0;
  const auto submit = [&](const profile& by, int tasks) {
    REQUIRE(e.apply(by).applied());
    for (int i = 0; i < tasks; ++i, ++next) {
      struct told {
        std::vector<int>* order;
        int number;
        void operator()() const { order->push_back(number); }
      };
      REQUIRE(e.submit(told{&order, next}) == submit_result::accepted);
    }
  };
  submit(by_load, 5); // two of them go into the inbox
  submit(injecting, 2);
  submit(by_load, 2);
  CHECK(e.metrics().injected == 7);
  held.open();
  e.drain();
  CHECK(order.size() == 9);
  std::erase_if(order, [](int number) { return number < 2; }); // the two of the inbox may come anywhere
  CHECK(std::ranges::is_sorted(order));
}
