#include "small_engine.hpp"

#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/resume_on.hpp>
#include <corewise/engine/scope.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <string>
#include <thread>

using namespace corewise;

namespace {

bool on(const engine& e) { return e.this_worker().has_value(); }
group_id group_here(const engine& e) { return e.workers()[e.this_worker().value()].group; }

task<> move_to(engine& e) { co_await resume_on(e); }
task<int> run_there(engine& e, task<int> t) { co_return co_await e.run(std::move(t)); }
task<int> five() {
  co_await yield();
  co_return 5;
}

} // namespace

TEST_CASE("resume_on: a coroutine goes on in the group that it names, with its class") {
  profile p = two_package_profile(2);
  p.steal.policy = "none";
  engine e(p);
  const auto visit = [&]() -> task<> {
    for (int i = 0; i < 100; ++i)
      for (std::uint32_t g = 0; g < 2; ++g) {
        co_await resume_on(group_id{g});
        CHECK(group_here(e) == group_id{g});
      }
  };
  sync_wait(e, visit());
  e.run(visit(), {.run_as = task_class::latency}).get();
  CHECK(e.metrics().latency_placed >= 200);
  const auto nowhere = [&]() -> task<> { co_await resume_on(group_id{2}); };
  CHECK_THROWS_AS(sync_wait(e, nowhere()), std::logic_error);
}

TEST_CASE("resume_on: a coroutine that has moved is a task of the other engine, until it moves back") {
  engine a(small_profile(2));
  engine b(small_profile(2));
  const auto travel = [&]() -> task<int> {
    CHECK(on(a));
    co_await resume_on(b);
    CHECK(on(b));
    CHECK(b.metrics().submitted == b.metrics().finished + 1);
    co_await yield();
    CHECK(on(b));
    co_await sleep_for(std::chrono::microseconds{10});
    CHECK(on(b));
    co_await resume_on(b); // it is there already
    CHECK(on(b));
    co_await resume_on(a);
    CHECK(on(a));
    co_await yield();
    CHECK(on(a));
    co_return 7;
  };
  CHECK(sync_wait(a, travel()) == 7);
  a.drain();
  b.drain();
  for (const engine* e : {&a, &b}) {
    const metrics_snapshot m = e->metrics();
    CHECK(m.submitted == m.finished);
  }
  CHECK(b.metrics().submitted == 1);
  CHECK(a.metrics().submitted == 2);
}

TEST_CASE("resume_on: the waiter of a coroutine that has moved goes on at the place of that coroutine") {
  engine a(small_profile(1));
  engine b(small_profile(1));
  const auto parent = [&]() -> task<> {
    co_await move_to(b);
    CHECK(on(b));
    co_await move_to(a);
    CHECK(on(a));
  };
  sync_wait(a, parent());
}

TEST_CASE("resume_on: work that is awaited through an engine resumes its waiter on the waiter's engine") {
  engine a(small_profile(2));
  engine b(small_profile(2));
  const auto child = [&]() -> task<int> {
    co_await yield();
    CHECK(on(b));
    co_return 1;
  };
  const auto strays = [&]() -> task<int> { // begins on b, ends on a
    co_await resume_on(a);
    co_return 2;
  };
  const auto parent = [&]() -> task<> {
    for (int i = 0; i < 200; ++i) {
      const int one = co_await b.run(child());
      CHECK(on(a));
      const int two = co_await b.run(strays());
      CHECK(on(a));
      CHECK(one + two == 3);
      auto answer = make_oneshot<int>();
      CHECK(b.submit([&] { answer.first.send(3); }) == submit_result::accepted);
      const int three = co_await answer.second.receive();
      CHECK(three == 3);
      CHECK(on(a));
      const auto [x, y] = co_await when_all(run_there(b, child()), five());
      CHECK(x + y == 6);
      CHECK(on(a));
    }
  };
  sync_wait(a, parent());
}

TEST_CASE("resume_on: children of when_all and of a scope cannot leave their engine") {
  engine a(small_profile(2));
  engine b(small_profile(1));
  const auto leave = [&]() -> task<bool> {
    bool refused = false;
    try {
      co_await move_to(b);
    } catch (const std::logic_error&) {
      refused = true;
    }
    CHECK(on(a));
    co_await yield();
    co_return refused;
  };
  const auto both = [&]() -> task<bool> {
    const auto [x, y] = co_await when_all(leave(), leave());
    const bool z = co_await in_scope([&](scope&) -> task<bool> { co_return co_await leave(); });
    co_return x&& y&& z;
  };
  CHECK(sync_wait(a, both()));
  CHECK(b.metrics().submitted == 0);
}

TEST_CASE("resume_on: an engine that takes no more tasks is an error, and the coroutine stays") {
  gate held;
  engine a(small_profile(1));
  profile p = small_profile(1);
  p.limits.in_flight = 1;
  engine full(p);
  CHECK(full.submit([&] { held.pass(); }) == submit_result::accepted);
  engine stopped(small_profile(1));
  CHECK(stopped.shutdown(std::chrono::seconds{60}).clean());
  const auto refused = [&](engine& by) -> task<> {
    bool caught = false;
    try {
      co_await resume_on(by);
    } catch (const not_run&) {
      caught = true;
    }
    CHECK(caught);
    CHECK(on(a));
    co_await yield();
    CHECK(on(a));
  };
  sync_wait(a, refused(full));
  sync_wait(a, refused(stopped));
  held.open();
  CHECK(a.shutdown(std::chrono::seconds{60}).clean());
}

TEST_CASE("resume_on: the engine to which a coroutine has moved counts its exceptions and its end") {
  profile p = small_profile(1);
  p.on_exception = exception_action::report;
  std::atomic<int> heard_by_a{0};
  std::atomic<int> heard_by_b{0};
  const auto hooks = [](std::atomic<int>& heard) {
    engine_hooks h;
    h.on_exception = [&heard](std::exception_ptr) { heard.fetch_add(1); };
    return h;
  };
  engine a(p, hooks(heard_by_a));
  engine b(p, hooks(heard_by_b));
  const auto fails = [&]() -> task<> {
    co_await resume_on(b);
    throw std::runtime_error("on b");
  };
  CHECK(a.submit(fails()) == submit_result::accepted);
  a.drain();
  b.drain();
  CHECK(heard_by_a == 0);
  CHECK(heard_by_b == 1);
}

TEST_CASE("resume_on: an engine may end when all coroutines that moved to it have ended") {
  engine a(small_profile(2));
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> arrived{0};
    auto b = std::make_unique<engine>(small_profile(1));
    for (int i = 0; i < 4; ++i)
      CHECK(a.submit([](engine& to, std::atomic<int>& there) -> task<> {
        co_await resume_on(to);
        there.fetch_add(1);
        there.notify_one();
      }(*b, arrived)) == submit_result::accepted);
    for (int now = arrived; now < 4; now = arrived) arrived.wait(now);
    b.reset();
  }
  CHECK(a.shutdown(std::chrono::seconds{60}).clean());
}

TEST_CASE("resume_on: a shutdown drops the coroutines that have moved to the engine") {
  std::atomic<bool> there{false};
  engine a(small_profile(1));
  auto held = std::make_shared<int>();
  {
    engine b(small_profile(1));
    CHECK(a.submit([](engine& to, std::atomic<bool>& arrived, std::shared_ptr<int>) -> task<> {
      co_await resume_on(to);
      arrived = true;
      arrived.notify_one();
      co_await sleep_for(std::chrono::hours{1});
    }(b, there, held)) == submit_result::accepted);
    there.wait(false);
    a.drain(); // the task is no longer one of a's
    CHECK(b.shutdown(std::chrono::milliseconds{1}).dropped == 1);
  }
  CHECK(held.use_count() == 1);
}

TEST_CASE("resume_on: a coroutine can move after a blocking call in which it has lost its seat") {
  gate other;
  gate second;
  engine a(small_profile(1));
  engine b(small_profile(1));
  const auto travel = [&]() -> task<> {
    CHECK(a.submit([&] { other.open(); }) == submit_result::accepted);
    blocking([&] { other.pass(); }); // until another thread sits on the only seat
    co_await resume_on(b);
    CHECK(on(b));
    CHECK(b.submit([&] { second.open(); }) == submit_result::accepted);
    blocking([&] { second.pass(); });
    co_await yield();
    CHECK(on(b));
    co_await resume_on(a);
    CHECK(on(a));
  };
  sync_wait(a, travel());
}

TEST_CASE("when_all: a parent whose children have lost the seat goes on and may suspend") {
  gate other;
  engine e(small_profile(1));
  const auto child = [&]() -> task<> {
    CHECK(e.submit([&] { other.open(); }) == submit_result::accepted);
    blocking([&] { other.pass(); });
    co_return;
  };
  const auto parent = [&]() -> task<> {
    co_await when_all(child());
    co_await yield();
    CHECK(on(e));
  };
  sync_wait(e, parent());
}
