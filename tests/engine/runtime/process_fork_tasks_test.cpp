#include "child_process.hpp"
#include "small_engine.hpp"

#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/parallel_for.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/engine/yield.hpp>
#include <corewise/topology/binding.hpp>

#include <doctest/doctest.h>
#include <unistd.h>

#include <numeric>
#include <thread>
#include <vector>

// What becomes of a task that forks the process, in the child.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

using process_fork = pid_t (*)();

/// A byte that processes share: the number of things that a child has done and should not have done.
class child_deeds {
 public:
  child_deeds() { REQUIRE(::pipe(ends_) == 0); }
  child_deeds(const child_deeds&) = delete;
  child_deeds& operator=(const child_deeds&) = delete;
  ~child_deeds() {
    ::close(ends_[0]);
    if (ends_[1] >= 0) ::close(ends_[1]);
  }
  /// Notes a deed, if the calling process is not the one that made this.
  void note() const {
    if (::getpid() != parent_) static_cast<void>(::write(ends_[1], "", 1));
  }
  /// Call once, when no child is left.
  int count() {
    ::close(std::exchange(ends_[1], -1));
    char byte = 0;
    int deeds = 0;
    while (::read(ends_[0], &byte, 1) > 0) ++deeds;
    return deeds;
  }

 private:
  const pid_t parent_ = ::getpid();
  int ends_[2];
};

/// Makes a child that goes on with the task, and returns in the parent when it has ended, with its status.
int status_of_child(process_fork make = &::fork) {
  const pid_t child = make();
  if (child != 0) return tests::exit_status(child);
  ::alarm(20); // ends the child if it hangs
  return -1;
}

} // namespace

TEST_CASE("fork: a child that returns from its task ends, and runs nothing of its parent's, and no hook") {
  for (const process_fork make : {&::fork, &::_Fork})
    for (const bool blocks : {false, true}) {
      child_deeds deeds;
      engine_hooks hooks;
      hooks.on_worker_start = hooks.on_worker_stop = [&](worker_id) { deeds.note(); };
      hooks.log = [&](std::string_view) { deeds.note(); };
      std::atomic<int> status{-1};
      {
        engine e(small_profile(1), hooks);
        gate begin;
        const auto forks = [&] {
          if (const int s = status_of_child(make); s >= 0) status = s;
        };
        CHECK(e.submit([&] {
          begin.pass();
          blocks ? blocking(forks) : forks();
        }) == submit_result::accepted);
        begin.wait_for(1);
        for (int i = 0; i < 20; ++i)
          CHECK(e.submit([&] { deeds.note(); }, i % 2 == 0 ? no_hint : urgent) == submit_result::accepted);
        const timer later = e.every(1ms, [&] { deeds.note(); });
        begin.open();
        e.drain();
      }
      CHECK(status == 0);
      CHECK(deeds.count() == 0);
    }
}

TEST_CASE(
    "fork: a child of a task may use all CPUs of its parent's engine, though the worker is tied to a core") {
  profile p;
  p.workers.total = 1;
  p.workers.pin = pin_to::core;
  engine e(p);
  const cpu_set& all = e.machine().cpus();
  if (e.machine().cores().size() < 2) {
    MESSAGE("skipped: the machine has one core");
    return;
  }
  const auto child_sees_all = [&] {
    const pid_t child = ::fork();
    if (child == 0) std::_Exit(this_thread_affinity() == all && engine().machine().cpus() == all ? 0 : 1);
    return tests::exit_status(child);
  };
  CHECK(e.run([&] { return child_sees_all(); }).get() == 0);
  CHECK(e.run([&] { return this_thread_affinity() == all; }).get() == false);
}

TEST_CASE("fork: a child whose task throws ends with status 1, and no hook hears of it") {
  child_deeds deeds;
  profile p = small_profile(1);
  p.on_exception = exception_action::report;
  engine_hooks hooks;
  hooks.on_exception = [&](const std::exception_ptr&) { deeds.note(); };
  hooks.log = [&](std::string_view) { deeds.note(); };
  std::atomic<int> status{-1};
  {
    engine e(p, hooks);
    CHECK(e.submit([&] {
      const int s = status_of_child();
      if (s < 0) throw 1;
      status = s;
    }) == submit_result::accepted);
    e.drain();
  }
  CHECK(status == 1);
  CHECK(deeds.count() == 0);
}

TEST_CASE("fork: a child that returns from a hook, or from a call of a timer, ends") {
  std::atomic<int> from_hook{-1};
  std::atomic<int> from_timer{-1};
  engine_hooks hooks;
  hooks.on_worker_start = [&](worker_id) {
    if (const int s = status_of_child(); s >= 0) from_hook = s;
  };
  engine e(small_profile(1), hooks);
  CHECK(from_hook == 0);
  timer beats = e.every(1ms, [&] {
    if (from_timer >= 0) return;
    if (const int s = status_of_child(); s >= 0) {
      from_timer = s;
      from_timer.notify_all();
    }
  });
  from_timer.wait(-1);
  CHECK(from_timer == 0);
  CHECK(beats.cancel());
}

TEST_CASE(
    "fork: a child with calls in a scope that other threads run, or that nothing has run, gives them up") {
  for (const bool away : {false, true}) {
    engine e(small_profile(2));
    gate held;
    std::atomic<int> status{-1};
    CHECK(e.submit([&] {
      blocking_scope s;
      s.fork([&] { held.pass(); });
      if (away) held.wait_for(1);
      const int got = status_of_child();
      if (got >= 0) {
        status = got;
        held.open();
        s.wait();
        return;
      }
      try {
        s.wait();
      } catch (const not_run&) {
        blocking_scope within(e);
        within.request_stop();
        std::_Exit(5);
      }
      std::_Exit(6);
    }) == submit_result::accepted);
    e.drain();
    CHECK(status == 5);
  }
}

TEST_CASE("fork: a coroutine goes on in the child until it waits for others, and then the child ends") {
  engine e(small_profile(2));
  std::atomic<int> status{-1};
  const auto forks = [&]() -> task<> {
    if (const int s = status_of_child(); s >= 0) status = s;
    co_await yield();
  };
  SUBCASE("at its end") { sync_wait(e, forks()); }
  SUBCASE("at an event") {
    event happens;
    e.run([&]() -> task<> {
       co_await forks();
       if (status < 0) co_await happens.wait();
     }).get();
  }
  SUBCASE("at a join") {
    sync_wait(e, [&]() -> task<> { co_await when_all(forks(), [&]() -> task<> { co_return; }()); }());
  }
  SUBCASE("in a loop") {
    std::vector<int> numbers(100'000);
    std::iota(numbers.begin(), numbers.end(), 0);
    sync_wait(e, [&] {
      return parallel_for(numbers, [&](int n) {
        if (n == 500)
          if (const int s = status_of_child(); s >= 0) status = s;
      });
    });
  }
  CHECK(status == 0);
  CHECK(e.run([] { return 1; }).get() == 1);
}
