#include "small_engine.hpp"
#include "within.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

profile limited(std::uint64_t most, full_action action) {
  profile p = small_profile(2);
  p.limits.in_flight = most;
  p.limits.on_full = action;
  return p;
}

} // namespace

TEST_CASE(
    "limits: with `reject` a full engine refuses, destroys and counts a task, and later has room again") {
  engine e(limited(3, full_action::reject));
  gate held;
  for (int i = 0; i < 3; ++i) CHECK(e.submit([&] { held.pass(); }) == submit_result::accepted);
  auto token = std::make_shared<int>(0);
  CHECK(e.submit([token] {}) == submit_result::full);
  CHECK(e.try_submit([token] {}) == submit_result::full);
  CHECK(token.use_count() == 1);
  CHECK(e.metrics().rejected == 2);
  held.open();
  e.drain();
  CHECK(e.submit([] {}) == submit_result::accepted);
}

TEST_CASE("limits: with `wait` a thread outside waits for room, and never more tasks than the limit are in "
          "flight") {
  engine e(limited(4, full_action::wait));
  std::atomic<int> in_flight{0};
  std::atomic<int> most{0};
  std::atomic<int> runs{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i)
        CHECK(e.submit([&] {
          const int now = in_flight.fetch_add(1) + 1;
          for (int seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {
          }
          runs.fetch_add(1);
          in_flight.fetch_sub(1);
        }) == submit_result::accepted);
    });
  for (auto& t : threads) t.join();
  e.drain();
  CHECK(runs == 8000);
  CHECK(most <= 4);
}

TEST_CASE("limits: a task that submits never waits for room, since that would deadlock") {
  engine e(limited(1, full_action::wait));
  std::atomic<int> answer{-1};
  CHECK(e.submit([&] { answer = static_cast<int>(e.submit([] {})); }) == submit_result::accepted);
  e.drain();
  CHECK(answer == static_cast<int>(submit_result::full));
}

TEST_CASE("limits: tasks of two full engines that submit to each other do not wait for each other") {
  engine a(limited(1, full_action::wait));
  engine b(limited(1, full_action::wait));
  gate both;
  std::atomic<int> full{0};
  const auto submit_to = [&](engine& other) {
    both.pass();
    full += other.submit([] {}) == submit_result::full ? 1 : 0;
  };
  REQUIRE(a.submit([&] { submit_to(b); }) == submit_result::accepted);
  REQUIRE(b.submit([&] { submit_to(a); }) == submit_result::accepted);
  both.wait_for(2);
  both.open();
  a.drain();
  b.drain();
  CHECK(full >= 1); // the other may have ended by then
}

TEST_CASE("limits: try_submit does not wait") {
  engine e(limited(1, full_action::wait));
  gate held;
  CHECK(e.submit([&] { held.pass(); }) == submit_result::accepted);
  held.wait_for(1);
  CHECK(e.try_submit([] {}) == submit_result::full);
  held.open();
  e.drain();
}

TEST_CASE("limits: a submitter that waits for room gets an answer when the engine stops") {
  engine e(limited(1, full_action::wait));
  gate held;
  CHECK(e.submit([&] { held.pass(); }) == submit_result::accepted);
  held.wait_for(1);
  std::atomic<int> answer{-1};
  std::thread waiter([&] { answer = static_cast<int>(e.submit([] {})); });
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  std::thread opener([&] {
    while (answer.load() == -1) std::this_thread::yield();
    held.open();
  });
  static_cast<void>(e.shutdown(std::chrono::seconds{10}));
  waiter.join();
  opener.join();
  CHECK(answer == static_cast<int>(submit_result::stopping));
}

TEST_CASE("limits: a reload to `reject` frees the threads that wait for room") {
  profile p = limited(1, full_action::wait);
  gate held;
  engine e(p);
  REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
  std::atomic<bool> freed{false};
  std::jthread waits([&] {
    CHECK(e.submit([] {}) == submit_result::full);
    freed = true;
  });
  std::this_thread::sleep_for(20ms); // it lies down
  p.limits.on_full = full_action::reject;
  CHECK(e.apply(p).applied());
  CHECK(within(10s, [&] { return freed.load(); }));
  CHECK(e.metrics().rejected == 1);
  held.open();
}

TEST_CASE("limits: a hook on the supervisor's thread never waits for room") {
  std::atomic<int> answered{-1};
  std::atomic<bool> drains{true};
  engine* here = nullptr;
  engine_hooks hooks;
  hooks.on_log_record = [&](const log_record& r) {
    if (r.code != log_code::stuck_worker || answered != -1) return;
    try {
      here->drain();
    } catch (const std::logic_error&) {
      drains = false;
    }
    answered = static_cast<int>(here->submit([] {}));
  };
  profile p = limited(1, full_action::wait);
  p.blocking.stuck_after = 20ms;
  gate held;
  engine e(p, hooks);
  here = &e;
  REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
  CHECK(within(20s, [&] { return answered == static_cast<int>(submit_result::full); }));
  CHECK(!drains);
  held.open();
}
