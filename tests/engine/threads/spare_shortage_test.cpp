// Tests that an engine without spare threads for its blocking calls says so.

#include "small_engine.hpp"
#include "within.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <mutex>
#include <thread>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

constexpr int blocked_workers = 2;

profile spares(std::uint32_t most) {
  profile p = small_profile(blocked_workers);
  p.blocking.spares_max = most;
  return p;
}

/// Counts the lines of a log that tell of a shortage.
class shortage_log {
 public:
  engine_hooks hooks() {
    engine_hooks h;
    h.log = [this](std::string_view line) {
      if (!line.starts_with("out of spare threads")) return;
      const std::scoped_lock lock(mutex_);
      last_ = line;
      ++lines_;
    };
    return h;
  }
  int lines() const { return lines_; }
  std::string last() {
    const std::scoped_lock lock(mutex_);
    return last_;
  }

 private:
  std::mutex mutex_;
  std::string last_;
  std::atomic<int> lines_{0};
};

/// Fills all threads of an engine with calls that wait for tasks of that engine. Returns its log's last line.
std::string report_of_shortage(std::uint32_t most) {
  shortage_log log;
  gate held;
  engine e(spares(most), log.hooks());
  const int calls = static_cast<int>(most) + blocked_workers;
  for (int i = 0; i < calls; ++i)
    CHECK(e.submit([&] { blocking([&] { held.pass(); }); }) == submit_result::accepted);
  held.wait_for(calls);
  std::this_thread::sleep_for(150ms); // so that each seat has been lent for long
  // Nothing waits now; on a slow machine a call may have waited for its thread.
  const int before = log.lines();
  std::atomic<int> ran{0};
  for (int i = 0; i < 7; ++i) CHECK(e.submit([&] { ++ran; }) == submit_result::accepted);
  while (log.lines() == before) std::this_thread::sleep_for(1ms);
  const metrics_snapshot m = e.metrics();
  CHECK(ran == 0);
  CHECK(m.spares_exhausted == static_cast<std::uint64_t>(before) + 1);
  CHECK(m.tasks_waiting_for_a_seat == 7);
  CHECK(e.dump().tasks_waiting_for_a_seat == 7);
  CHECK(e.dump().to_text().find("7 tasks wait for workers that are in blocking calls") != std::string::npos);
  const auto warnings = e.warnings();
  CHECK(std::ranges::count(warnings, log.last()) == 1);
  std::this_thread::sleep_for(300ms);
  CHECK(log.lines() == before + 1); // once an episode
  held.open();
  e.drain();
  CHECK(ran == 7);
  CHECK(e.metrics().tasks_waiting_for_a_seat == 0);
  return log.last();
}

/// Submits short tasks one after another, for longer than it takes to report a shortage.
void submit_for_a_while(engine& e) {
  for (int i = 0; i < 50; ++i) {
    CHECK(e.submit([] {}) == submit_result::accepted);
    std::this_thread::sleep_for(5ms);
  }
}

} // namespace

TEST_CASE("shortage of spare threads: it is reported once an episode, with the number of tasks that wait") {
  CHECK(
      report_of_shortage(3) ==
      "out of spare threads: 7 tasks wait for workers, of which 2 are in blocking calls; the engine has 2 "
      "workers "
      "and 5 threads, and `blocking.spares_max` allows no more; calls that wait for tasks of this engine may "
      "never end");
}

TEST_CASE("shortage of spare threads: an episode ends when all workers sleep") {
  profile unwatched = spares(0); // the supervisor looks only while seats are lent
  unwatched.topology.follow = {follow_setting::mode::off, {}};
  unwatched.blocking.stuck_after.reset();
  unwatched.queues.lifo_age.reset();
  unwatched.idle.park_timeout = {park_timeout_setting::mode::never, {}};
  for (const profile& p : {spares(0), unwatched}) {
    shortage_log log;
    engine e(p, log.hooks());
    gate held;
    for (int i = 0; i < blocked_workers; ++i)
      CHECK(e.submit([&] { blocking([&] { held.pass(); }); }) == submit_result::accepted);
    held.wait_for(blocked_workers);
    CHECK(e.submit([] {}) == submit_result::accepted);
    REQUIRE(within(10s, [&] { return e.metrics().short_of_spares != 0; }));
    held.open();
    e.drain();
    CHECK(within(10s, [&] { return e.metrics().short_of_spares == 0; }));
  }
}

TEST_CASE("shortage of spare threads: an engine that may have none reports it as well") {
  CHECK(report_of_shortage(0).find("2 workers and 2 threads") != std::string::npos);
}

TEST_CASE("shortage of spare threads: there is none while spare threads come, or while other workers take "
          "what waits") {
  shortage_log log;
  gate held;
  {
    engine e(spares(8), log.hooks());
    for (int i = 0; i < 6; ++i)
      CHECK(e.submit([&] { blocking([&] { held.pass(); }); }) == submit_result::accepted);
    held.wait_for(6);
    submit_for_a_while(e);
    held.open();
    e.drain();
    CHECK(e.metrics().spares_exhausted == 0);
  }
  gate one;
  engine e(spares(0), log.hooks());
  CHECK(e.submit([&] { blocking([&] { one.pass(); }); }) == submit_result::accepted);
  one.wait_for(1);
  submit_for_a_while(e);
  one.open();
  e.drain();
  CHECK(e.metrics().spares_exhausted == 0);
  CHECK(log.lines() == 0);
}
