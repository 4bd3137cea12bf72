#include "small_engine.hpp"

#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <vector>

using namespace corewise;

namespace {

constexpr int waiting = 300;
constexpr std::uint32_t batch = 64;
constexpr std::uint32_t interval = 100;

/// Lets two tasks yield to each other while `waiting` tasks from outside run. Returns how many turns the two
/// had from the first of these tasks to the last. One worker.
int turns_meanwhile(discipline rules, injection_scope scope, std::optional<std::uint32_t> inbox) {
  profile p = small_profile(1);
  p.queues.inbox = inbox;
  p.injection = {.scope = scope, .interval = {interval, interval}, .batch = {1, batch}};
  p.queues.discipline = rules;
  if (!inbox) p.steal.policy = "none";
  gate held;
  engine e(p);
  std::vector<int> turns; // `turn` when each task from outside ran; only tasks write it and `turn`
  int turn = 0;
  const auto yielder = [](std::vector<int>& seen, int& count) -> task<> {
    while (seen.size() != waiting) {
      ++count;
      co_await yield();
    }
  };
  REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
  held.wait_for(1);
  for (int i = 0; i < 2; ++i) REQUIRE(e.submit(yielder(turns, turn)) == submit_result::accepted);
  for (int i = 0; i < waiting; ++i)
    REQUIRE(e.submit([&] { turns.push_back(turn); }) == submit_result::accepted);
  held.open();
  e.drain();
  REQUIRE(turns.size() == waiting);
  return turns.back() - turns.front();
}

} // namespace

// Two yielders have two turns for each batch. With the interval they also have the turns that it leaves
// beside the batch.
constexpr int most_by_turns = 2 * (waiting / static_cast<int>(batch) + 2);
constexpr int least_by_interval =
    (waiting / static_cast<int>(batch) - 2) * static_cast<int>(interval - batch);
static_assert(most_by_turns < least_by_interval);

TEST_CASE("backlog: tasks that yield for ever have one turn for each batch of tasks in the inbox") {
  for (const std::optional<std::uint32_t> inbox : {std::optional<std::uint32_t>{1024}, {}}) {
    const injection_scope scope = inbox ? injection_scope::group : injection_scope::none;
    const int by_turns = turns_meanwhile(discipline::standard, scope, inbox);
    CHECK(by_turns <= most_by_turns);
    CHECK(by_turns >= waiting / static_cast<int>(batch)); // the yielders have not starved
    CHECK(turns_meanwhile(discipline::tokio, scope, inbox) >= least_by_interval);
  }
}

TEST_CASE("backlog: tasks that yield for ever have one turn for each batch of tasks in the injection queue") {
  for (const injection_scope scope : {injection_scope::group, injection_scope::engine}) {
    const int by_turns = turns_meanwhile(discipline::standard, scope, 2);
    CHECK(by_turns <= most_by_turns);
    CHECK(by_turns >= waiting / static_cast<int>(batch));
    CHECK(turns_meanwhile(discipline::tokio, scope, 2) >= least_by_interval);
  }
}

TEST_CASE("backlog: a task in the slot does not wait until nothing comes from outside any more") {
  profile p = small_profile(1);
  p.queues.oldest_first = std::chrono::microseconds{1}; // it takes one at a time from the inbox
  gate held;
  engine e(p);
  int ran = 0; // of the tasks from outside; only tasks write it, and the next
  int seen = -1;
  REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
  held.wait_for(1);
  const auto take_long = [&] {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds{50};
    while (std::chrono::steady_clock::now() < until) {
    }
    if (++ran == waiting / 2) // by now the worker knows how long they take
      CHECK(e.submit([&] { seen = ran; }) == submit_result::accepted);
  };
  for (int i = 0; i < waiting; ++i) REQUIRE(e.submit(take_long) == submit_result::accepted);
  held.open();
  e.drain();
  CHECK(seen < waiting / 2 + 10);
}
