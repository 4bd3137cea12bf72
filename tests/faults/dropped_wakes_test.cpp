#include "child_process.hpp"
#include "faults.hpp"

#include <corewise/engine/engine.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

// The tests drop wake-ups, one in a thousand or one that matters. The sentinel must find the work that waits,
// and count it. So a zero in all other tests means that no wake-up was lost, and not that no sentinel looked.

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

/// Waits until a task whose wake-up was dropped is rescued. The exit status says what was wrong.
[[noreturn]] void wait_for_rescue(const profile& p, const tests::signal_pipe& said,
                                  const tests::signal_pipe& told) {
  engine e(p);
  while (e.metrics().total().parks < e.workers().size()) std::this_thread::sleep_for(1ms);
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

/// Stops a process again and again before the sentinel's second look at a task whose wake-up was dropped.
void check_stopped(const profile& p) {
  const tests::signal_pipe said;
  const tests::signal_pipe told;
  const pid_t child = tests::child_that([&] { wait_for_rescue(p, said, told); });
  said.wait();
  const auto begun = std::chrono::steady_clock::now();
  std::chrono::nanoseconds stopped{0};
  told.tell();
  said.wait();
  for (const auto pause : {700ms, 510ms, 740ms, 620ms, 200ms, 200ms, 200ms}) {
    stopped += tests::stop_for(child, pause);
    std::this_thread::sleep_for(15ms); // the sentinel looks
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

} // namespace

TEST_CASE("the sentinel's time-out rescues and counts a dropped wake-up, and no task is lost") {
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
  check_stopped(sleepy_profile());
  profile without_slot_looks = sleepy_profile(); // they wake the sentinel more often than need be
  without_slot_looks.queues.lifo_age.reset();
  check_stopped(without_slot_looks);
}
