#include "child_process.hpp"
#include "faults.hpp"

#include <corewise/engine/engine.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

// The tests drop wake-ups, one in a thousand or one that matters. The supervisor must find the work that
// waits, and count it. While there is no supervisor, the sentinel must. So a zero in all other tests means
// that no wake-up was lost, and not that no thread looked.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t period = 1000;

profile sleepy_profile() {
  profile p;
  p.topology.groups.group_by = domain_kind::machine; // one domain, however many caches the machine has
  p.workers.total = 8;
  p.workers.pin = pin_to::none;
  p.idle.spin = std::chrono::nanoseconds{0}; // so that each task wakes a worker
  return p;
}

/// Submits a task and waits for it, again and again, so that most of them wake a worker. Ends when the
/// counters are `enough`.
template <class Enough>
void submit_one_by_one(engine& e, std::uint64_t& submitted, std::atomic<std::uint64_t>& runs,
                       const Enough& enough) {
  constexpr std::uint64_t most = 1000 * period;
  for (std::uint64_t n = 0; n < most && !enough(e.metrics().total()); ++n) {
    REQUIRE(e.submit([&] { runs.fetch_add(1); }) == submit_result::accepted);
    ++submitted;
    e.drain();
  }
}

/// Submits from several threads at once; each task has a child.
void submit_burst(engine& e, std::uint64_t& submitted, std::atomic<std::uint64_t>& runs) {
  constexpr std::uint64_t threads = 4;
  constexpr std::uint64_t tasks = 2000;
  std::atomic<std::uint64_t> accepted{0};
  const auto count = [&](submit_result answer) { accepted.fetch_add(answer == submit_result::accepted); };
  std::vector<std::thread> all;
  for (std::uint64_t t = 0; t < threads; ++t)
    all.emplace_back([&] {
      for (std::uint64_t n = 0; n < tasks; ++n)
        count(e.submit([&] {
          runs.fetch_add(1);
          count(e.submit([&] { runs.fetch_add(1); }));
        }));
    });
  for (std::thread& t : all) t.join();
  e.drain();
  CHECK(accepted == 2 * threads * tasks);
  submitted += accepted;
}

/// Waits until a task whose wake-up was dropped is rescued. `supervised`: an earlier task starts the
/// supervisor, which does it. The exit status says what was wrong.
[[noreturn]] void wait_for_rescue(const profile& p, bool supervised, const tests::signal_pipe& said,
                                  const tests::signal_pipe& told) {
  engine e(p);
  if (supervised) {
    if (e.submit([] {}) != submit_result::accepted) std::_Exit(1);
    e.drain();
    std::this_thread::sleep_for(500ms); // the supervisor starts
  }
  const auto parked = [](const seat_dump& s) { return s.state == seat_state::parked; };
  while (!std::ranges::all_of(e.dump().seats, parked)) std::this_thread::sleep_for(1ms);
  said.tell();
  told.wait();
  tests::drop_wakes(1);
  if (e.submit([] {}) != submit_result::accepted) std::_Exit(1);
  said.tell();
  told.wait();
  const bool too_soon = e.metrics().total().rescued_by_timeout != 0 || e.metrics().in_flight() == 0;
  said.tell();
  if (too_soon) std::_Exit(2);
  e.drain();
  if (e.metrics().total().rescued_by_timeout != 1) std::_Exit(3);
  tests::drop_wakes(0);
  std::_Exit(e.shutdown(60s).clean() ? 0 : 4);
}

/// Stops a process again and again before the second look at a task whose wake-up was dropped.
void check_stopped(const profile& p, bool supervised) {
  const tests::signal_pipe said;
  const tests::signal_pipe told;
  const pid_t child = tests::child_that([&] { wait_for_rescue(p, supervised, said, told); });
  said.wait();
  const auto begun = std::chrono::steady_clock::now();
  std::chrono::nanoseconds stopped{0};
  told.tell();
  said.wait();
  for (const auto pause : {700ms, 510ms, 740ms, 620ms, 200ms, 200ms, 200ms}) {
    stopped += tests::stop_for(child, pause);
    std::this_thread::sleep_for(15ms); // the thread that looks wakes up
  }
  told.tell();
  said.wait();
  const auto ran = std::chrono::steady_clock::now() - begun - stopped; // an upper bound
  const int status = tests::exit_status(child);
  if (ran < 300ms)
    CHECK(status == 0);
  else // there are 500 ms between two looks, and each stop may hide 20 of them
    MESSAGE("skipped: it may have run for "
            << std::chrono::duration_cast<std::chrono::milliseconds>(ran).count() << " ms");
}

/// Drops wake-ups until one is rescued.
void check_dropped() {
  engine e(sleepy_profile());
  std::atomic<std::uint64_t> runs{0};
  std::uint64_t submitted = 0;
  const std::uint64_t before = tests::dropped_wakes();
  tests::drop_wakes(period);
  submit_one_by_one(e, submitted, runs, [](const worker_metrics& m) { return m.rescued_by_timeout > 0; });
  submit_burst(e, submitted, runs);
  tests::drop_wakes(0);

  const metrics_snapshot m = e.metrics();
  MESSAGE(submitted << " tasks, " << tests::dropped_wakes() - before << " wakes dropped, "
                    << m.total().rescued_by_timeout << " rescues");
  CHECK(tests::dropped_wakes() > before);
  CHECK(m.total().rescued_by_timeout > 0);
  CHECK(runs == submitted);
  CHECK(m.in_flight() == 0);
  CHECK(e.shutdown(std::chrono::seconds{60}).clean());
}

} // namespace

TEST_CASE("a time-out rescues and counts a dropped wake-up, and no task is lost") {
  for (const bool supervised : {true, false}) {
    CAPTURE(supervised);
    tests::refuse_supervisor(!supervised);
    check_dropped();
  }
  tests::refuse_supervisor(false);
}

TEST_CASE("without dropped wake-ups the time-out finds nothing") {
  engine e(sleepy_profile());
  std::atomic<std::uint64_t> runs{0};
  std::uint64_t submitted = 0;
  submit_one_by_one(e, submitted, runs, [](const worker_metrics& m) { return m.wakes > 2 * period; });
  submit_burst(e, submitted, runs);
  const metrics_snapshot m = e.metrics();
  CHECK(m.total().wakes > 2 * period);
  CHECK(m.total().rescued_by_timeout == 0);
  CHECK(runs == submitted);
  CHECK(m.in_flight() == 0);
  CHECK(e.shutdown(std::chrono::seconds{60}).clean());
}

TEST_CASE(
    "a process that is stopped again and again counts no lost wake-up until it has run for long enough") {
  for (const bool supervised : {true, false}) {
    CAPTURE(supervised);
    check_stopped(sleepy_profile(), supervised);
    profile without_slot_looks = sleepy_profile(); // they wake the thread that looks more often than need be
    without_slot_looks.queues.lifo_age.reset();
    check_stopped(without_slot_looks, supervised);
  }
}

TEST_CASE(
    "where the system gives no thread for a supervisor, the sentinel frees a task that ages in a slot") {
  profile p = sleepy_profile();
  p.workers.total = 2;
  p.dispatch.policy = "local_first"; // a task that a worker submits stays on that worker
  tests::refuse_supervisor(true);
  {
    std::atomic<bool> ran{false};
    engine e(p);
    REQUIRE(e.submit([&] {
      REQUIRE(e.submit([&] { ran = true; }) == submit_result::accepted);
      while (!ran) std::this_thread::yield(); // it waits behind this one
    }) == submit_result::accepted);
    e.drain();
    CHECK(ran);
    CHECK(e.metrics().total().lifo_rescued == 1);
    CHECK(e.metrics().total().rescued_by_timeout == 0);
  }
  tests::refuse_supervisor(false);
}

TEST_CASE("where the system gives no thread for a supervisor, a hook that hears of it at a reload may call "
          "the engine") {
  profile p = sleepy_profile();
  std::atomic<engine*> made{nullptr};
  std::atomic<int> heard{0};
  engine_hooks hooks;
  hooks.on_log_record = [&](const log_record& record) {
    engine* const e = made.load();
    if (e == nullptr || record.code != log_code::no_supervision) return;
    static_cast<void>(e->refresh());
    ++heard;
  };
  tests::refuse_supervisor(true);
  {
    engine e(p, hooks);
    made = &e;
    p.blocking.stuck_after = 123ms;
    CHECK(e.apply(p).applied()); // no task has made the supervisor begin
    CHECK(heard == 1);
    made = nullptr;
  }
  tests::refuse_supervisor(false);
}
