// Tests that an engine without spare threads for its blocking calls says so.

#include "small_engine.hpp"
#include "within.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
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
  // Nothing waits now; on a slow machine a call may have waited for its thread, long enough to be reported.
  while (e.metrics().short_of_spares != 0) std::this_thread::sleep_for(1ms);
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
  const std::string line = report_of_shortage(3);
  CAPTURE(line); // it may be written while the tasks come
  CHECK(line.starts_with("out of spare threads: "));
  CHECK(line.find(line.find("1 task waits") == std::string::npos ? " tasks wait for "
                                                                 : "1 task waits for ") != std::string::npos);
  CHECK(line.find(
            "in blocking calls; the engine has 2 workers and 5 threads, and `blocking.spares_max` allows no "
            "more; calls that wait for tasks of this engine may never end") != std::string::npos);
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
    for (int i = 0; i < 6; ++i) { // nothing waits for a seat that is lent
      CHECK(e.submit([&] { blocking([&] { held.pass(); }); }) == submit_result::accepted);
      held.wait_for(i + 1);
      while (e.metrics().total().taken_seats != static_cast<std::uint64_t>(i) + 1) std::this_thread::yield();
    }
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

TEST_CASE("shortage of spare threads: a worker that has retired wants none for what waits for others") {
  shortage_log log;
  gate held;
  std::atomic<bool> over{false};
  std::function<void()> next;
  engine e(spares(0), log.hooks());
  next = [&] {
    std::this_thread::sleep_for(1ms);
    if (!over) CHECK(e.submit(next, {.group = group_id{0}}) == submit_result::accepted);
  };
  CHECK(e.submit([&] { blocking([&] { held.pass(); }); }, {.worker = worker_id{1}}) ==
        submit_result::accepted);
  held.wait_for(1);
  const bool on_the_last =
      e.dump().seats[1].state == seat_state::blocking; // else it was stolen, and nothing is shown
  profile fewer = spares(0);
  fewer.workers.total = 1;
  CHECK(e.apply(fewer).applied());
  for (int i = 0; i < 1500; ++i) CHECK(e.submit(next) == submit_result::accepted); // more than an inbox holds
  std::this_thread::sleep_for(300ms);
  if (on_the_last) CHECK(log.lines() == 0);
  over = true;
  held.open();
  e.drain();
}

TEST_CASE(
    "spare threads: those that are too many by a new profile leave, also where they would wait for an hour") {
  constexpr int calls = 40;
  profile p = small_profile(1);
  p.blocking.spares_max = 64;
  p.blocking.keep_alive = std::chrono::hours{1};
  engine e(p);
  gate held;
  for (int i = 0; i < calls; ++i)
    REQUIRE(e.submit([&] { blocking([&] { held.pass(); }); }) == submit_result::accepted);
  held.wait_for(calls);
  const std::uint64_t in_use = e.metrics().spare_threads_in_use;
  CHECK(in_use >= calls - 1); // the last one may have its seat still
  CHECK(in_use <= calls);
  held.open();
  e.drain();
  REQUIRE(within(60s, [&] { return e.metrics().spare_threads >= calls - 1; }));
  CHECK(within(60s, [&] { return e.metrics().spare_threads_in_use == 0; }));
  p.blocking.spares_max = 2;
  REQUIRE(e.apply(p).applied());
  CHECK(within(60s, [&] { return e.metrics().spare_threads <= 2; }));
  std::this_thread::sleep_for(20ms); // all that want to leave have left
  CHECK(e.metrics().spare_threads == 2);
  p.blocking.keep_alive = std::chrono::milliseconds{1};
  REQUIRE(e.apply(p).applied());
  CHECK(within(60s, [&] { return e.metrics().spare_threads == 0; }));
}
