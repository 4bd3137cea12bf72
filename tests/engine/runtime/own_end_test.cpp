#include "child_process.hpp"
#include "small_engine.hpp"

#include <corewise/engine/run_blocking.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

// An engine that ends on its own worker does not wait for the task that ends it.

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

using clock_type = std::chrono::steady_clock;

/// Half of the destructor's deadline: an engine that waits for itself takes longer.
constexpr auto patience = engine::destructor_deadline / 2;

/// Lets a task drop the last reference to its engine by `drop(reference)`. Returns how long that took.
template <class Drop> clock_type::duration time_to_end(const Drop& drop) {
  auto owner = std::make_shared<engine>(small_profile(2));
  engine& e = *owner;
  gate held; // until the task owns the engine alone
  std::atomic<clock_type::rep> took{0};
  REQUIRE(e.submit([&, owner]() mutable {
    held.pass();
    const auto began = clock_type::now();
    drop(owner);
    took = (clock_type::now() - began).count() + 1;
    took.notify_all();
  }) == submit_result::accepted);
  held.wait_for(1);
  owner.reset();
  held.open();
  took.wait(0);
  return clock_type::duration(took);
}

/// Runs a process in which a task of a static engine calls `act`. Returns how long it took to exit with status 4.
template <class F> clock_type::duration time_to_exit(const F& act) {
  const auto began = clock_type::now();
  const pid_t child = child_that([&] {
    static engine e(small_profile(2));
    if (e.submit([&] { act(e); }) != submit_result::accepted) std::abort();
    std::this_thread::sleep_for(1min);
  });
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 4);
  return clock_type::now() - began;
}

} // namespace

TEST_CASE("own end: a task that drops the last reference to its engine goes on at once") {
  CHECK(time_to_end([](std::shared_ptr<engine>& last) { last.reset(); }) < patience);
  CHECK(time_to_end([](std::shared_ptr<engine>& last) { blocking([&] { last.reset(); }); }) < patience);
}

TEST_CASE("own end: exit in a task, in a call that blocks and in a timer's call ends the process at once") {
  CHECK(time_to_exit([](engine&) { std::exit(4); }) < patience);
  CHECK(time_to_exit([](engine&) { blocking([] { std::exit(4); }); }) < patience);
  CHECK(time_to_exit([](engine& e) { e.after(1ms, [] { std::exit(4); }); }) < patience);
}
