#include "fire_and_forget.hpp"
#include "small_engine.hpp"

#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/parallel_for.hpp>
#include <corewise/engine/resume_on.hpp>
#include <corewise/engine/scope.hpp>
#include <corewise/engine/sync_wait.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <coroutine>
#include <functional>
#include <stdexcept>
#include <vector>

// Coroutines of other types that a task resumes by hand: when they wait, the task gets the thread back.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// The state that all coroutines of a test share; one worker runs them.
struct company {
  bool in_call = false;  ///< a task resumes a coroutine by hand
  int steps_in_call = 0; ///< steps of the others meanwhile, which held the task up
  int roots_changed = 0;
  bool ended = false; ///< tells the others to stop
};

task<> others(company& all) {
  while (!all.ended) {
    if (all.in_call) ++all.steps_in_call;
    co_await yield();
  }
}

task<int> nothing_but(int value) { co_return value; }
task<> yields_once() { co_await yield(); }
task<int> yields_first(int value) {
  co_await yields_once();
  co_return value;
}
task<int> forks_two() {
  const auto [a, b] = co_await when_all(nothing_but(1), yields_first(2));
  co_return a + b;
}
task<int> forks_range() {
  std::vector<task<int>> children;
  for (const int value : {1, 2}) children.push_back(yields_first(value));
  const std::vector<int> values = co_await when_all(std::move(children));
  co_return values[0] + values[1];
}
task<int> forks_into_scope() {
  int sum = 0;
  co_await in_scope([&](scope& s) -> task<> {
    s.fork([](int& to) -> task<> { to += co_await yields_first(1); }(sum));
    sum += co_await yields_first(2);
  });
  co_return sum;
}
/// Runs a loop that takes long enough to yield.
task<int> loops() {
  int sum = 0;
  co_await parallel_for(0, 3, [&](int value) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds{150};
    while (std::chrono::steady_clock::now() < until) {
    }
    sum += value; // only one worker writes it
  });
  co_return sum;
}

fire_and_forget awaits_yield(int& answer, event& done) {
  co_await yield();
  answer = 3;
  done.set();
}
fire_and_forget awaits_all(int& answer, event& done) {
  const auto [a, b] = co_await when_all(nothing_but(1), yields_first(2));
  answer = a + b;
  done.set();
}
fire_and_forget awaits_task(task<int> t, int& answer, event& done) {
  answer = co_await std::move(t);
  done.set();
}

using begun_by_hand = std::function<void(int&, event&)>;

task<> caller(company& all, const begun_by_hand& begin, int times) {
  for (int i = 0; i < times; ++i) {
    co_await yield(); // so that all others are in the ring behind this task
    const detail::coroutine_root* const own = detail::this_execution.root;
    int answer = 0;
    event done;
    all.in_call = true;
    begin(answer, done);
    all.in_call = false;
    if (detail::this_execution.root != own) ++all.roots_changed;
    co_await done.wait();
    CHECK(answer == 3);
  }
  all.ended = true;
}

void check_gives_back(const begun_by_hand& begin) {
  engine e(small_profile(1));
  company all;
  const auto submits = [](engine& to, company& c, const begun_by_hand& b) -> task<> {
    for (int i = 0; i < 20; ++i) REQUIRE(to.submit(others(c)) == submit_result::accepted);
    REQUIRE(to.submit(caller(c, b, 500)) == submit_result::accepted);
    co_return;
  };
  REQUIRE(e.submit(submits(e, all, begin)) == submit_result::accepted);
  e.drain();
  CHECK(all.ended);
  CHECK(all.steps_in_call == 0);
  CHECK(all.roots_changed == 0);
}

} // namespace

TEST_CASE("coroutine of another type, begun by hand in a task: it yields, and the task goes on") {
  check_gives_back(awaits_yield);
}
TEST_CASE("coroutine of another type, begun by hand in a task: it awaits when_all") {
  check_gives_back(awaits_all);
}
TEST_CASE(
    "coroutine of another type, begun by hand in a task: a task that it awaits yields, forks or loops") {
  const auto of = [](auto t) { return [t](int& answer, event& done) { awaits_task(t(), answer, done); }; };
  check_gives_back(of([] { return yields_first(3); }));
  check_gives_back(of(forks_two));
  check_gives_back(of(forks_range));
  check_gives_back(of(forks_into_scope));
  check_gives_back(of(loops));
}

namespace {

task<> moves(engine& to) { co_await resume_on(to); }

/// Tries both ways to move. Both are refused, and the coroutine goes on where it was.
fire_and_forget tries_to_move(engine& from, engine& to, int& refused, event& done) {
  try {
    co_await resume_on(to);
  } catch (const std::logic_error&) {
    refused += from.this_worker().has_value();
  }
  co_await yield();
  try {
    co_await moves(to);
  } catch (const std::logic_error&) {
    refused += from.this_worker().has_value();
  }
  done.set();
}

} // namespace

TEST_CASE("coroutine of another type, begun by hand in a task: it cannot move the task to another engine") {
  engine one(small_profile(1));
  engine other(small_profile(1));
  int refused = 0;
  const auto begins = [&]() -> task<> {
    event done;
    tries_to_move(one, other, refused, done);
    co_await done.wait();
    CHECK(one.this_worker().has_value());
    co_await moves(other); // the task itself may move
    CHECK(other.this_worker().has_value());
  };
  REQUIRE(one.submit(begins()) == submit_result::accepted);
  one.drain();
  other.drain();
  CHECK(refused == 2);
  CHECK(other.metrics().finished == 1);
}

namespace {

/// A coroutine that gives a number at each `resume`, and is destroyed by its owner.
class numbers {
 public:
  struct promise_type {
    int number = -1;
    numbers get_return_object() { return numbers(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    std::suspend_always yield_value(int value) noexcept {
      number = value;
      return {};
    }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };

  explicit numbers(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
  numbers(const numbers&) = delete;
  numbers& operator=(const numbers&) = delete;
  ~numbers() { frame_.destroy(); }
  int next() {
    frame_.resume();
    return frame_.promise().number;
  }

 private:
  std::coroutine_handle<promise_type> frame_;
};

numbers awaited_numbers(int count) {
  for (int i = 0; i < count; ++i) co_yield co_await nothing_but(i);
}
numbers number_of(future<int> f) { co_yield co_await std::move(f); }
numbers number_from(oneshot_receiver<int>& from) { co_yield co_await from.receive(); }

} // namespace

TEST_CASE("coroutine of another type, resumed by hand in a task: it comes to its next stop each time") {
  engine e(small_profile(1));
  const auto missed = [](int count) -> task<int> {
    numbers all = awaited_numbers(count);
    int wrong = 0;
    for (int i = 0; i < count; ++i) wrong += all.next() == i ? 0 : 1;
    co_return wrong;
  };
  for (const int count : {1, 31, 32, 33, 500}) CHECK(sync_wait(e, missed(count)) == 0);
}

TEST_CASE(
    "coroutine of another type, resumed by hand in a task: destroyed while it waits, it is not resumed") {
  engine e(small_profile(2));
  for (int round = 0; round < 20; ++round) {
    auto [sender, receiver] = make_oneshot<int>();
    event opened; // the task that waits for it may begin when `destroys` has ended
    const auto destroys = [&]() -> task<> {
      future<int> later = e.run([](event& at) -> task<int> {
        co_await at.wait();
        co_return 1;
      }(opened));
      CHECK(number_of(std::move(later)).next() == -1);
      CHECK(number_from(receiver).next() == -1);
      opened.set();
      sender.send(1);
      co_await yield();
      co_return;
    };
    sync_wait(e, destroys());
    e.drain();
  }
  CHECK(e.dump().suspended.empty());
}

TEST_CASE("coroutine of another type, resumed by hand in a loop, a blocking scope or a labelled call: it "
          "comes to its "
          "next stop each time") {
  engine e(small_profile(1));
  std::atomic<int> wrong{0};
  const auto goes_through = [&](int count) {
    numbers all = awaited_numbers(count);
    for (int i = 0; i < count && wrong == 0; ++i) wrong += all.next() == i ? 0 : 1;
  };
  const auto in_scope = [&]() -> task<> {
    blocking_scope calls;
    calls.fork([&] { goes_through(500); });
    calls.wait();
    co_return;
  };
  sync_wait(e, [&] { return parallel_for(0, 3, [&](int) { goes_through(500); }); });
  CHECK(wrong == 0);
  sync_wait(e, in_scope());
  CHECK(wrong == 0);
  e.run([&] { goes_through(500); }, {.name = "labelled"}).get();
  CHECK(wrong == 0);
}
