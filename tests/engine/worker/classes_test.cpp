#include "small_engine.hpp"

#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <mutex>
#include <thread>

using namespace corewise;

namespace {

/// Two fast and two slow cores that share a cache.
profile hybrid_profile() {
  profile p = small_profile(0);
  p.workers.total.reset();
  p.workers.per_group = 2;
  auto& machine = p.topology.machine;
  machine.source = synthetic_source{"pack:1 numa:1 l3:1 core:4 pu:1"};
  machine.kinds = {{*cpu_set::parse("0-1"), "P", 1024}, {*cpu_set::parse("2-3"), "E", 500}};
  return p;
}

profile without_stealing(profile p) {
  p.steal.policy = "none";
  return p;
}

/// Waits until all workers sleep, and none has been woken.
void settle(const engine& e) {
  const auto parked = [](const seat_dump& seat) { return seat.state == seat_state::parked; };
  while (!std::ranges::all_of(e.dump().seats, parked)) std::this_thread::yield();
}

const std::string& kind_of(const engine& e, worker_id w) {
  return e.machine().kinds()[e.groups()[e.workers()[w].group].kind].name;
}

/// Submits itself again until the flag is set.
void submit_for_ever(engine& e, const std::atomic<bool>& until, const hint& wish) {
  if (until) return;
  if (e.submit([&e, &until, &wish] { submit_for_ever(e, until, wish); }, wish) != submit_result::accepted)
    std::abort();
}

task<> yield_for_ever(const std::atomic<bool>& until) {
  while (!until) co_await yield();
}

/// The order in which tasks ran, as one letter each.
class record {
 public:
  void add(char what) {
    const std::scoped_lock lock(mutex_);
    all_ += what;
  }
  std::string all() const {
    const std::scoped_lock lock(mutex_);
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  std::string all_;
};

/// One worker, held by a task until `run` lets it go on; tasks that are submitted meanwhile wait.
class held_worker {
 public:
  explicit held_worker(profile p = small_profile(1)) : e_(lone(std::move(p))) {
    REQUIRE(e_.submit([this] { gate_.pass(); }) == submit_result::accepted);
    gate_.wait_for(1);
  }
  void submit(char what, const hint& wish = {}) {
    REQUIRE(e_.submit([this, what] { record_.add(what); }, wish) == submit_result::accepted);
  }
  engine& get() { return e_; }
  std::string run() {
    gate_.open();
    e_.drain();
    return record_.all();
  }

 private:
  static profile lone(profile p) {
    p.workers.total = 1;
    p.injection.interval = {255, 255}; // so that no queue is due in between
    return p;
  }

  record record_;
  gate gate_;
  engine e_;
};

} // namespace

TEST_CASE("classes: urgent tasks come first, background tasks last, and each class in its order") {
  for (const bool stealing : {true, false}) {
    held_worker one(stealing ? small_profile(1) : without_stealing(small_profile(1)));
    for (const char what : {'1', '2', '3'}) {
      one.submit(static_cast<char>(what + ('x' - '1')), patient);
      one.submit(what);
      one.submit(static_cast<char>(what + ('a' - '1')), urgent);
    }
    CHECK(one.run() == "abc123xyz");
    const metrics_snapshot m = one.get().metrics();
    CHECK(m.latency_placed == 3);
    CHECK(m.background_placed == 3);
    CHECK(m.total().latency_runs == 3);
    CHECK(m.total().background_runs == 3);
  }
}

TEST_CASE("classes: of ten tasks at most nine are urgent while others wait") {
  held_worker one;
  for (int i = 0; i < 90; ++i) one.submit('l', urgent);
  for (int i = 0; i < 9; ++i) one.submit('n');
  const std::string order = one.run();
  REQUIRE(order.size() == 99);
  std::size_t normal = 0;
  for (std::size_t i = 0; i < order.size() && normal < 9; ++i) {
    if (order[i] != 'n') continue;
    ++normal;
    CHECK(i < normal * 10);
  }
  CHECK(normal == 9);
  CHECK(order.substr(0, 9) == "lllllllll");
}

TEST_CASE("classes: endless urgent tasks starve neither a normal nor a background task") {
  for (const bool stealing : {true, false})
    for (const std::uint32_t workers : {1U, 2U}) {
      CAPTURE(workers);
      engine e(stealing ? small_profile(workers) : without_stealing(small_profile(workers)));
      std::atomic<bool> stop{false};
      for (std::uint32_t i = 0; i < 2 * workers; ++i) submit_for_ever(e, stop, urgent);
      std::atomic<int> ran{0};
      const auto once = [&] {
        ran.fetch_add(1);
        ran.notify_all();
      };
      CHECK(e.submit(once) == submit_result::accepted);
      CHECK(e.submit(once, patient) == submit_result::accepted);
      for (int now = ran; now != 2; now = ran) ran.wait(now);
      stop = true;
      e.drain();
      CHECK(e.metrics().waiting() == 0);
    }
}

TEST_CASE("classes: normal tasks that yield or submit without end do not starve a background task") {
  for (const bool stealing : {true, false}) {
    engine e(stealing ? small_profile(2) : without_stealing(small_profile(2)));
    std::atomic<bool> stop{false};
    for (int i = 0; i < 4; ++i) {
      CHECK(e.submit(yield_for_ever(stop)) == submit_result::accepted);
      submit_for_ever(e, stop, no_hint);
    }
    std::atomic<bool> ran{false};
    CHECK(e.submit(
              [&] {
                ran = true;
                ran.notify_all();
              },
              patient) == submit_result::accepted);
    ran.wait(false);
    stop = true;
    e.drain();
  }
}

TEST_CASE("classes: while the inbox is backed up a background task has its turn once in an interval") {
  constexpr std::uint32_t interval = 10;
  constexpr std::uint32_t of_each = 60;
  profile p = small_profile(1);
  p.injection.interval = {interval, interval};
  std::vector<char> order; // only tasks write it
  {
    gate held;
    engine e(p);
    REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
    held.wait_for(1);
    for (std::uint32_t i = 0; i < of_each; ++i)
      REQUIRE(e.submit([&] { order.push_back('n'); }) == submit_result::accepted);
    for (std::uint32_t i = 0; i < of_each; ++i)
      REQUIRE(e.submit([&] { order.push_back('b'); }, patient) == submit_result::accepted);
    held.open();
    e.drain();
  }
  const auto last_normal = std::find(order.rbegin(), order.rend(), 'n').base();
  const auto turns = std::count(order.begin(), last_normal, 'b');
  CHECK(turns >= 3);
  CHECK(turns <= of_each / (interval - 1) + 1);
}

TEST_CASE("classes: a coroutine keeps its class when it yields and when it is resumed") {
  engine e(small_profile(1));
  auto outer = make_oneshot<int>();
  std::atomic<int> got{0};
  const auto body = [](oneshot_receiver<int> from, std::atomic<int>& result) -> task<> {
    for (int i = 0; i < 4; ++i) co_await yield();
    result = co_await from.receive();
  };
  CHECK(e.submit(body(std::move(outer.second), got), urgent) == submit_result::accepted);
  while (e.metrics().latency_placed != 5 || e.metrics().waiting() != 0) std::this_thread::yield();
  outer.first.send(42); // from outside: the coroutine goes back to the queue of the domain where it was last
  e.drain();
  CHECK(got == 42);
  CHECK(e.metrics().latency_placed == 6);
  CHECK(e.metrics().total().latency_runs == 6);

  auto inner = make_oneshot<int>();
  CHECK(e.submit(body(std::move(inner.second), got), patient) == submit_result::accepted);
  CHECK(e.submit([&] { inner.first.send(43); }) == submit_result::accepted);
  e.drain();
  CHECK(got == 43);
  CHECK(e.metrics().background_placed >= 5);
  CHECK(e.metrics().total().background_runs == e.metrics().background_placed);
}

TEST_CASE(
    "classes: an idle domain wakes a fast core for an urgent task and a slow one for a background task") {
  for (const bool stealing : {true, false}) {
    engine e(stealing ? hybrid_profile() : without_stealing(hybrid_profile()));
    for (int i = 0; i < 20; ++i) {
      for (const hint& wish : {urgent, patient}) {
        settle(e);
        std::string ran_on;
        CHECK(e.submit([&] { ran_on = kind_of(e, *e.this_worker()); }, wish) == submit_result::accepted);
        e.drain();
        CHECK(ran_on == (wish.run_as == task_class::latency ? "P" : "E"));
      }
    }
    CHECK(e.metrics().total().rescued_by_timeout == 0);
  }
}

TEST_CASE("classes: a fast core that becomes idle leaves a background task to sleeping slow ones") {
  engine e(hybrid_profile());
  for (int i = 0; i < 50; ++i) {
    settle(e);
    std::string ran_on;
    // The task ends at once, and then its worker looks for work.
    CHECK(e.submit(
              [&] {
                if (e.submit([&] { ran_on = kind_of(e, *e.this_worker()); }, patient) !=
                    submit_result::accepted)
                  std::abort();
              },
              {.worker = worker_id{0}}) == submit_result::accepted);
    e.drain();
    CHECK(ran_on == "E");
  }
  CHECK(e.metrics().total().rescued_by_timeout == 0);
}

TEST_CASE("classes: the rest of the hint leads to a domain") {
  engine e(two_package_profile(1));
  for (std::uint32_t package = 0; package < 2; ++package)
    for (const task_class c : {task_class::latency, task_class::background}) {
      settle(e);
      std::uint32_t ran_in = 99;
      CHECK(e.submit([&] { ran_in = *e.groups()[e.workers()[*e.this_worker()].group].package; },
                     {.package = package, .run_as = c}) == submit_result::accepted);
      e.drain();
      CHECK(ran_in == package);
    }
}

TEST_CASE("classes: when a whole domain is busy, another one takes its waiting tasks above the threshold") {
  for (const hint& wish : {urgent, patient}) {
    engine e(two_package_profile(1));
    settle(e);
    gate held;
    CHECK(e.submit([&] { held.pass(); }, {.worker = worker_id{0}}) == submit_result::accepted);
    held.wait_for(1);
    hint there = wish;
    std::atomic<int> ran{0};
    const std::uint32_t enough = e.configuration().steal.minimum_at.cross_package;
    // The task may have been stolen before it came to the gate. Then the other domain is the home of the
    // tasks below.
    const std::uint32_t at_gate = e.dump().seats[0].load.running != 0 ? 0 : 1;
    there.worker = worker_id{at_gate};
    for (std::uint32_t i = 0; i < enough; ++i)
      CHECK(e.submit(
                [&] {
                  ran.fetch_add(1);
                  ran.notify_all();
                },
                there) == submit_result::accepted);
    ran.wait(0);
    held.open();
    e.drain();
    CHECK(ran == static_cast<int>(enough));
    CHECK(e.metrics().total().rescued_by_timeout == 0);
  }
}

TEST_CASE(
    "classes: while a worker blocks without a spare thread, others run the waiting tasks of its domain") {
  profile p = small_profile(2);
  p.blocking.spares_max = 0;
  engine e(p);
  gate held;
  std::atomic<int> ran{0};
  CHECK(e.submit([&] {
    for (const hint& wish : {urgent, patient, urgent})
      if (e.submit(
              [&] {
                ran.fetch_add(1);
                ran.notify_all();
              },
              wish) != submit_result::accepted)
        std::abort();
    blocking([&] { held.pass(); });
  }) == submit_result::accepted);
  for (int now = ran; now != 3; now = ran) ran.wait(now);
  held.open();
  e.drain();
}

TEST_CASE("classes: a shutdown that ends early drops the tasks in the class queues unrun") {
  struct counted {
    std::atomic<int>* ran;
    std::shared_ptr<int> alive;
    void operator()() const { ran->fetch_add(1); }
  };
  std::atomic<int> ran{0};
  const auto alive = std::make_shared<int>();
  gate held;
  {
    engine e(small_profile(1));
    CHECK(e.submit([&] { held.pass(); }) == submit_result::accepted);
    held.wait_for(1);
    for (int i = 0; i < 300; ++i) { // more than a ring holds
      CHECK(e.submit(counted{&ran, alive}, urgent) == submit_result::accepted);
      CHECK(e.submit(counted{&ran, alive}, patient) == submit_result::accepted);
    }
    const shutdown_report report = e.shutdown(std::chrono::milliseconds{1});
    CHECK(report.dropped == 600);
    CHECK(e.metrics().in_flight() == 1);
    held.open();
    while (e.metrics().in_flight() != 0) std::this_thread::yield(); // its thread goes on by itself
  }
  CHECK(ran == 0);
  CHECK(alive.use_count() == 1);
}

TEST_CASE("classes: metrics and dump show waiting tasks, and the sums are right at rest") {
  held_worker one;
  for (int i = 0; i < 300; ++i) one.submit('l', urgent);
  for (int i = 0; i < 5; ++i) one.submit('b', patient);
  engine& e = one.get();
  metrics_snapshot m = e.metrics();
  CHECK(m.latency_queued == 300);
  CHECK(m.background_queued == 5);
  CHECK(m.waiting() == 306);
  CHECK(m.in_flight() == 306);
  const engine_dump d = e.dump();
  std::uint32_t latency = 0;
  std::uint32_t background = 0;
  for (const class_depths& domain : d.class_queues) {
    latency += domain.latency;
    background += domain.background;
  }
  CHECK(latency == 300);
  CHECK(background == 5);
  CHECK(d.to_text().find("300 latency and 5 background tasks wait") != std::string::npos);
  CHECK(nlohmann::json::parse(d.to_json())["class_queues"].size() == e.groups().domains().size());
  CHECK(nlohmann::json::parse(m.to_json())["tasks_queued"]["latency"] == 300);
  one.run();
  m = e.metrics();
  CHECK(m.waiting() == 0);
  CHECK(m.in_flight() == 0);
}
