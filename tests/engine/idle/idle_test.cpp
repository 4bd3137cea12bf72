// Which workers wake, search and may take tasks (engine/src/idle), on described machines whose workers the
// tests hold where they are. A test counts what must not happen after a worker has looked; it waits for what
// must happen, however long it takes.

#include "held_engine.hpp"
#include "runtime/runtime.hpp"
#include "small_engine.hpp"

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <thread>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

// --- tasks that wait elsewhere

TEST_CASE("idle: other domains take nothing from a busy domain below the threshold, and half of the waiting "
          "tasks from there on") {
  struct distant {
    level far;
    const char* machine;
    std::uint32_t least;
  };
  for (const distant& d : {distant{level::same_node, "pack:1 numa:1 l3:2 core:2 pu:1", 3},
                           distant{level::same_package, "pack:1 numa:2 l3:1 core:2 pu:1", 4},
                           distant{level::cross_package, "pack:2 numa:1 l3:1 core:2 pu:1", 6}}) {
    CAPTURE(d.machine);
    profile p = described(d.machine, 1, domain_kind::llc);
    p.steal.minimum_at = {.same_node = 3, .same_package = 4, .cross_package = 6};
    std::atomic<std::uint32_t> ran{0};
    held_engine e(p);
    REQUIRE(e.get().workers().size() == 2);
    REQUIRE(e.get().groups().level_between({0}, {1}) == d.far);
    e.hold(0);
    const std::uint64_t wakes = e.counts(1).wakes;
    const auto task = [&] { ++ran; };
    for (std::uint32_t i = 1; i < d.least; ++i) e.submit_to(0, task);
    CHECK(e.parked(1));
    CHECK(e.counts(1).wakes == wakes); // the sender woke no worker for them
    REQUIRE(e.look_around(1));         // and the worker that is awake takes none
    CHECK(e.stolen_by_all() == 0);
    CHECK(ran == 0);

    e.submit_to(0, task);
    const std::uint32_t half = (d.least + 1) / 2;
    REQUIRE(in_the_end([&] { return ran == half && e.parked(1); }));
    REQUIRE(e.look_around(1)); // the tasks that are left are again too few
    CHECK(ran == half);
    CHECK(e.stolen(1, d.far) == half);
    CHECK(e.stolen_by_all() == half);
    e.release(0);
    e.get().drain();
    // Of the rest a worker of the other domain may have one: the held task was a long one.
    CHECK(ran == d.least);
  }
}

TEST_CASE("idle: a worker takes a single task from a busy worker of its own domain") {
  std::atomic<bool> ran{false};
  held_engine e(packages(1, 2));
  e.hold(0);
  e.submit_to(0, [&] { ran = true; });
  REQUIRE(in_the_end([&] { return ran.load(); }));
  CHECK(e.stolen(1, level::same_group) == 1);
}

TEST_CASE("idle: a thief tells the group of its last victim, and its own where it had none") {
  profile p = packages(2, 1);
  p.steal.minimum_at.cross_package = 2;
  constexpr auto far = static_cast<std::size_t>(level::cross_package);
  held_engine e(p);
  CHECK(e.counts(0).victims[far] == group_id{0});
  e.hold(1);
  for (int i = 0; i < 2; ++i) e.submit_to(1, [] {});
  REQUIRE(in_the_end([&] { return e.stolen(0, level::cross_package) != 0; }));
  CHECK(e.counts(0).victims[far] == group_id{1});
  CHECK(e.counts(0).victims[0] == group_id{0});
  CHECK(e.counts(1).victims[far] == group_id{1});
}

TEST_CASE("idle: work in a busy domain wakes the nearest sleeper of another domain") {
  for (const std::uint32_t near : {1U, 2U}) {
    CAPTURE(near);
    const std::uint32_t far = 3 - near;
    profile p = packages(3, 1);
    p.steal.minimum_at.cross_package = 4;
    auto& distances = p.topology.machine.distances;
    distances = {{10, 30, 30}, {30, 10, 30}, {30, 30, 10}};
    distances[0][near] = distances[near][0] = 20;
    std::atomic<int> ran{0};
    held_engine e(p);
    e.hold(0);
    const std::uint64_t wakes_near = e.counts(near).wakes;
    const std::uint64_t wakes_far = e.counts(far).wakes;
    for (int i = 0; i < 4; ++i) e.submit_to(0, [&] { ++ran; });
    REQUIRE(in_the_end([&] { return ran == 2 && e.parked(near); }));
    CHECK(e.stolen(near, level::cross_package) == 2);
    CHECK(e.counts(near).wakes == wakes_near + 1);
    // On a slow machine `near` has by then told that its tasks take long, and `far` was woken for its second one.
    CHECK(e.counts(far).wakes <= wakes_far + 1);
    CHECK(e.stolen(far, level::cross_package) <= 1);
  }
}

TEST_CASE("idle: while the nearest domain is busy, the next one's sleeper is woken") {
  profile p = packages(3, 1);
  p.steal.minimum_at.cross_package = 4;
  p.topology.machine.distances = {{10, 20, 30}, {20, 10, 30}, {30, 30, 10}};
  std::atomic<int> ran{0};
  held_engine e(p);
  e.hold(0);
  e.hold(1);
  for (int i = 0; i < 4; ++i) e.submit_to(0, [&] { ++ran; });
  REQUIRE(in_the_end([&] { return ran == 2; }));
  CHECK(e.stolen(2, level::cross_package) == 2);
}

TEST_CASE("idle: a worker that is woken for another domain wakes the next one while more work waits there") {
  for (int round = 0; round < 5; ++round) {
    profile p = packages(2, 3);
    p.steal.minimum_at.cross_package = 1;
    held_engine e(p);
    for (std::uint32_t w = 0; w < 3; ++w) e.hold(w);
    for (int i = 0; i < 3; ++i)
      e.submit_to(0, [&] { e.hold_here(); }); // the first wakes one worker, which is on its way then
    for (std::uint32_t w = 3; w < 6; ++w)
      REQUIRE(in_the_end([&] { return e.state(w) == seat_state::running; }));
  }
}

// --- workers that search

namespace {

constexpr std::uint32_t each = 8; // workers of each of two domains

struct search_bound {
  std::uint32_t per_mille;
  std::uint32_t most;
};
constexpr std::array<search_bound, 4> search_bounds{{{1, 1}, {250, 2}, {251, 3}, {1000, 8}}};

profile two_domains(std::uint32_t searchers_per_mille) {
  profile p = packages(2, each);
  p.idle.searchers_per_mille = searchers_per_mille;
  p.steal.minimum_at.cross_package = 1000; // each domain keeps to itself
  p.dispatch.weights.spill.cross_package = 2000;
  return p;
}

void hold_all(held_engine& e) {
  for (std::uint32_t w = 0; w < 2 * each; ++w) e.submit_to(w, [&] { e.hold_here(); });
  for (std::uint32_t w = 0; w < 2 * each; ++w)
    REQUIRE(in_the_end([&] { return e.state(w) == seat_state::running; }));
}

} // namespace

TEST_CASE("idle: in each domain at most as many workers search as the profile allows") {
  for (const search_bound& b : search_bounds) {
    CAPTURE(b.per_mille);
    held_engine e(two_domains(b.per_mille));
    hold_all(e); // only the calls below begin a search
    detail::idle_workers& idle = e.inside().idle();
    for (const std::uint32_t first : {0U, each}) {
      for (std::uint32_t i = 0; i < each; ++i) CHECK(idle.try_search(worker_id{first + i}) == (i < b.most));
      idle.found_work(worker_id{first}); // one searcher fewer: there is room for one
      CHECK(idle.try_search(worker_id{first}));
      CHECK_FALSE(idle.try_search(worker_id{first}));
    }
    for (const std::uint32_t first : {0U, each})
      for (std::uint32_t i = 0; i < b.most; ++i) idle.found_work(worker_id{first + i});
  }
}

TEST_CASE("idle: workers without work keep to the bound on searchers") {
  for (const search_bound& b : search_bounds) {
    CAPTURE(b.per_mille);
    profile p = two_domains(b.per_mille);
    p.idle.spin = 50ms;
    held_engine e(p);
    hold_all(e);
    for (std::uint32_t w = 0; w < 2 * each;
         ++w) { // one after another: two at once may exceed the bound for a moment
      const group_id g{w / each};
      const worker_bits& spinning = e.inside().board(g).spinning;
      const std::uint64_t parks = e.counts(w).parks;
      e.release(w);
      REQUIRE(
          in_the_end([&] { return spinning.test(w % each) || (e.parked(w) && e.counts(w).parks > parks); }));
      CHECK(std::popcount(spinning.word(0)) <= static_cast<int>(b.most));
    }
  }
}

TEST_CASE("idle: a worker that finds nothing searches for as long as the profile says, and then sleeps") {
  for (const auto spin : {0ms, 20ms}) {
    profile p = packages(1, 1);
    p.idle.spin = spin;
    held_engine e(p);
    for (int i = 0; i < 5; ++i) {
      const std::uint64_t parks = e.counts(0).parks;
      std::chrono::steady_clock::time_point idle_since;
      e.submit_to(0, [&] { idle_since = std::chrono::steady_clock::now(); });
      REQUIRE(in_the_end([&] { return e.counts(0).parks > parks; }));
      CHECK(std::chrono::steady_clock::now() - idle_since >= spin);
    }
    CHECK(e.settled());
  }
}

// --- the levels that others are shown

TEST_CASE("idle: while a worker is held, its load shows the tasks that thieves have left") {
  constexpr std::uint32_t waiting = 41;
  for (const bool from_within : {false, true}) {
    CAPTURE(from_within);
    profile p = packages(2, 1); // so there are levels of groups as well
    p.steal.minimum_at.cross_package = 1;
    std::atomic<std::uint32_t> wrong{0};
    std::atomic<std::uint32_t> ran{0};
    std::atomic<bool> begun{false};
    held_engine e(p);
    const load_view view = e.inside().view();
    const load_levels& shown = e.inside().board({0}).levels;
    const auto right = [&] { return load_level(view.load({0}, 0).total()); };
    const auto look = [&] { // runs on the thief, between two of its thefts
      if (shown.at(0) != right() || view.group_levels->at(0) != right()) ++wrong;
      ++ran;
    };
    e.hold(1);
    if (from_within) { // into its ring
      e.submit_to(0, [&] {
        for (std::uint32_t i = 0; i < waiting; ++i) e.submit_to(0, look);
        begun = true;
        e.hold_here();
      });
      REQUIRE(in_the_end([&] { return begun.load(); }));
    } else {
      e.hold(0);
      for (std::uint32_t i = 0; i < waiting; ++i) e.submit_to(0, look);
    }
    REQUIRE(view.load({0}, 0).total() == waiting + 1);
    e.release(1);
    REQUIRE(in_the_end([&] { return ran == waiting; }));
    CHECK(wrong == 0);
    CHECK(e.stolen(1, level::cross_package) == waiting);
    CHECK(shown.at(0) == 1); // the task that holds it
  }
}

// --- the LIFO slot of a worker that is held

TEST_CASE("idle: a worker that is woken again and again hands over sentinel duty only once") {
  constexpr std::uint64_t rounds = 50;
  held_engine e(small_profile(2));
  const timer far_off = e.get().after(1h, [] {}); // the sentinel waits for it
  for (std::uint32_t w = 0; w < 2; ++w) e.hold(w);
  e.release(0);
  REQUIRE(in_the_end([&] { return e.parked(0); })); // as the sentinel
  e.release(1);
  REQUIRE(e.settled());
  const std::uint64_t before = e.counts(1).wakes;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    e.submit_to(0, [] {});
    e.get().drain();
    REQUIRE(e.settled());
  }
  // Worker 1 should wake only once. But a submitter that comes while worker 0 lies down may wake worker 1
  // instead.
  CHECK(e.counts(1).wakes - before <= rounds / 2);
}

TEST_CASE("idle: a wake-up after which a worker sleeps again without a task is counted as one in vain") {
  held_engine e(small_profile(2));
  const timer far_off = e.get().after(1h, [] {}); // the sentinel waits for it
  for (std::uint32_t w = 0; w < 2; ++w) e.hold(w);
  for (std::uint32_t w = 0; w < 2; ++w) {
    e.release(w);
    REQUIRE(in_the_end([&] { return e.parked(w); })); // worker 0 as the sentinel
  }
  REQUIRE(e.settled());
  const worker_metrics before = e.counts(1);
  gate held;
  e.submit_to(0, [&] { held.pass(); }); // worker 0 wakes worker 1 for its duties, which is no task
  held.wait_for(1);
  REQUIRE(in_the_end([&] { return e.counts(1).wakes_in_vain != before.wakes_in_vain && e.parked(1); }));
  CHECK(e.counts(1).wakes == before.wakes + 1);
  for (std::uint64_t i = 1; i <= 2; ++i) { // a sleep that has only just begun may be counted late
    e.submit_to(1, [] {});
    REQUIRE(in_the_end([&] { return e.counts(1).executed == before.executed + i && e.parked(1); }));
  }
  CHECK(e.counts(1).wakes == before.wakes + 3);
  CHECK(e.counts(1).wakes_in_vain == before.wakes_in_vain + 1);
  held.open();
  e.get().drain();
}

/// Worker 0, the sentinel, is woken for a task and wakes worker 1 for its duties. Worker 1 looks for work
/// first. In the middle of that worker 2 begins to look for work, and gets a task when worker 1 has lain
/// down. Returns whether worker 2 found worker 1 as the sentinel, so that it did not wake it.
bool duties_are_taken_among_searchers() {
  profile p = small_profile(3);
  p.idle.searchers_per_mille = 1000;
  p.idle.spin = 60ms;
  held_engine e(p);
  const timer far_off = e.get().after(1h, [] {}); // the sentinel waits for it
  for (std::uint32_t w = 0; w < 3; ++w) e.hold(w);
  for (std::uint32_t w = 0; w < 2; ++w) {
    e.release(w);
    REQUIRE(in_the_end([&] { return e.parked(w); }));
  }
  gate held;
  gate held_too;
  e.submit_to(0, [&] { held.pass(); });
  held.wait_for(1);
  std::this_thread::sleep_for(p.idle.spin / 2);
  e.release(2);
  REQUIRE(in_the_end([&] { return e.parked(1); }));
  const std::uint64_t before = e.counts(1).wakes;
  e.submit_to(2, [&] { held_too.pass(); });
  held_too.wait_for(1);
  std::this_thread::sleep_for(p.idle.spin / 2);
  const bool taken = e.counts(1).wakes == before;
  held.open();
  held_too.open();
  e.get().drain();
  return taken;
}

TEST_CASE("idle: a worker that is woken for sentinel duty takes it, although others search") {
  // Under load worker 1 may be the last to lie down, or not quite asleep: then the attempt proves nothing.
  bool taken = false;
  for (int attempt = 0; attempt < 10 && !taken; ++attempt) taken = duties_are_taken_among_searchers();
  CHECK(taken);
}

TEST_CASE(
    "idle: another worker takes a task from the slot of a held worker when it has aged, and not before") {
  for (const bool ages : {false, true}) {
    CAPTURE(ages);
    profile p = packages(1, 2);
    p.dispatch.policy = "local_first"; // a task that a worker submits stays on that worker
    p.queues.lifo_cap = 3;
    p.queues.lifo_age = ages ? optional_duration{50us} : std::nullopt;
    std::atomic<bool> begun{false};
    std::atomic<std::uint32_t> ran_on{99};
    held_engine e(p);
    e.submit_to(0, [&] {
      const auto child = [&] { ran_on = e.get().this_worker()->value; };
      if (e.get().submit(child) != submit_result::accepted) std::abort();
      begun = true;
      e.hold_here();
    });
    REQUIRE(in_the_end([&] { return begun.load(); }));
    if (ages) {
      REQUIRE(in_the_end([&] { return ran_on != 99; }));
      CHECK(ran_on == 1);
      CHECK(e.get().metrics().total().lifo_rescued == 1);
    } else {
      REQUIRE(e.look_around(1));
      CHECK(e.inside().view().load({0}, 0).slot == 1);
      e.release(0);
      e.get().drain();
      CHECK(ran_on == 0);
      CHECK(e.get().metrics().total().lifo_rescued == 0);
    }
  }
}
