#include "child_process.hpp"
#include "sanitized.hpp"
#include "small_engine.hpp"
#include "token.hpp"

#include <corewise/engine/run_blocking.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/task.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

// An engine that ends on its own worker does not wait for the task that ends it. One that ends elsewhere waits for its tasks
// until the destructor's deadline, and no longer.

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

using clock_type = std::chrono::steady_clock;

/// Returns whether the condition comes to hold while this thread sleeps 100 times for 10 ms: in a second. Where a machine is
/// so busy that nothing goes on, the sleeps last longer as well. An engine that waits for itself takes ten seconds.
/// Sanitizers look for leaks when a process ends, for which they get more time, and so does an emulated process.
template <class Condition> bool within_a_second(const Condition& holds) {
  for (int sleeps = sanitized || emulated ? 500 : 100; sleeps > 0; --sleeps) {
    if (holds()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return holds();
}

/// What became of the tasks that an engine had at its end. Lives longer than the thread that ends the engine.
struct last_tasks {
  gate held; // until the task owns the engine alone
  std::atomic<int> ran{0};
  std::atomic<int> alive{0};
  std::atomic<std::int64_t> dropped{0};
  std::atomic<bool> over{false};
};

/// Notes the number of dropped tasks that the engine tells the log at its end.
template <class Counts> engine_hooks noting_dropped(Counts& into) {
  engine_hooks hooks;
  hooks.on_log_record = [&into](const log_record& r) {
    if (r.code != log_code::work_left) return;
    for (const log_record::number& n : r.numbers)
      if (n.name == "dropped") into.dropped = n.value;
  };
  return hooks;
}

/// Lets a call drop the last reference to an engine that has tasks left. `begin(engine, call)` has the call made. The engine
/// ends at once, and each task has run or is counted as dropped. Returns how many ran.
constexpr int tasks_left = 1000;
template <class Begin> int ran_at_end(const Begin& begin) {
  const auto tasks = std::make_shared<last_tasks>();
  auto owner = std::make_shared<engine>(small_profile(2), noting_dropped(*tasks));
  begin(*owner, [tasks, owner]() mutable {
    tasks->held.pass();
    for (int i = 0; i < tasks_left; ++i)
      if (owner->submit([tasks = tasks.get(), t = token(tasks->alive)] { ++tasks->ran; }) !=
          submit_result::accepted)
        std::abort();
    owner.reset();
    tasks->over = true;
    tasks->over.notify_all();
  });
  tasks->held.wait_for(1);
  owner.reset();
  tasks->held.open();
  CHECK(within_a_second([&] { return tasks->over.load(); }));
  tasks->over.wait(false);
  CHECK(tasks->alive == 0);
  CHECK(tasks->ran + tasks->dropped == tasks_left);
  return tasks->ran;
}

template <class F> void must_submit(engine& e, F&& f) {
  if (e.submit(std::forward<F>(f)) != submit_result::accepted) std::abort();
}

/// Runs a process in which a task of a static engine calls `act`. Checks that it exits at once, with status 4.
template <class F> void check_exit(const F& act) {
  std::array<int, 2> begins{};
  REQUIRE(::pipe2(begins.data(), O_CLOEXEC) == 0);
  const pid_t child = child_that([&] {
    static engine e(small_profile(2));
    must_submit(e, [&] {
      ::close(begins[1]);
      act(e);
    });
    std::this_thread::sleep_for(1min);
  });
  ::close(begins[1]);
  char none = 0;
  CHECK(::read(begins[0], &none, 1) ==
        0); // waits: where programs are emulated, the child takes long to get there
  ::close(begins[0]);
  int status = 0;
  pid_t ended = 0;
  CHECK(within_a_second([&] { return (ended = ::waitpid(child, &status, WNOHANG)) != 0; }));
  if (ended == 0) ended = ::waitpid(child, &status, 0);
  REQUIRE(ended == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 4);
}

/// Looks at what the destructor of a static engine has done, and ends the process: with status 0 if that was right.
struct looks_at_end {
  std::atomic<int> ran{0};
  std::atomic<int> alive{0};
  std::atomic<std::int64_t> dropped{0};
  int expected = 0;
  clock_type::time_point exits;

  ~looks_at_end() {
    const auto took = clock_type::now() - exits;
    if (alive != 0) ::_exit(1);
    if (ran != 0 || dropped != expected) ::_exit(2);
    if (took < engine::destructor_deadline) ::_exit(3);
    ::_exit(took < 2 * engine::destructor_deadline ? 0 : 4);
  }
};

} // namespace

TEST_CASE(
    "own end: a call that drops the last reference to its engine goes on at once, and no task is lost") {
  SUBCASE("a task") {
    ran_at_end([](engine& e, auto call) { must_submit(e, std::move(call)); });
  }
  SUBCASE("a call that blocks") {
    ran_at_end([](engine& e, auto call) {
      must_submit(e, [call = std::move(call)]() mutable { blocking([&] { call(); }); });
    });
  }
  SUBCASE("a timer's call") {
    ran_at_end([](engine& e, auto call) { e.after(1ms, std::move(call)); });
  }
  SUBCASE("a coroutine that has slept") {
    const auto sleeps = [](auto call) -> task<> {
      co_await sleep_for(1ms);
      call();
    };
    ran_at_end([&](engine& e, auto call) { must_submit(e, sleeps(std::move(call))); });
  }
}

TEST_CASE("own end: where a task of another engine drops the last reference, all tasks run") {
  engine other(small_profile(1));
  CHECK(ran_at_end([&](engine&, auto call) { must_submit(other, std::move(call)); }) == tasks_left);
  other.drain();
}

TEST_CASE("own end: exit in a task, in a call that blocks and in a timer's call ends the process at once") {
  check_exit([](engine&) { std::exit(4); });
  check_exit([](engine&) { blocking([] { std::exit(4); }); });
  check_exit([](engine& e) { e.after(1ms, [] { std::exit(4); }); });
}

TEST_CASE("own end: at exit a static engine drops 100,000 queued tasks at its deadline, behind a task that "
          "does not end") {
  // Destructors of static objects come when the thread's own thread_local objects are gone.
  const pid_t child = child_that([] {
    static looks_at_end at_end;
    static gate held;
    static engine e(small_profile(1), noting_dropped(at_end));
    must_submit(e, [] { held.pass(); });
    held.wait_for(1);
    for (at_end.expected = 0; at_end.expected < 100'000; ++at_end.expected)
      must_submit(e, [t = token(at_end.alive)] { ++at_end.ran; });
    at_end.exits = clock_type::now();
    std::exit(5);
  });
  CHECK(exit_status(child) == 0);
}
