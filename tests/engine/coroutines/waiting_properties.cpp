#include "company.hpp"

#include <corewise/engine/barrier.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/latch.hpp>
#include <corewise/engine/mutex.hpp>
#include <corewise/engine/oneshot.hpp>

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // the one-piece oneshot

// Any sequence of steps with the primitives that coroutines wait for, on one thread and without an engine,
// gives the same answers in the same order as a plain queue of waiters. (Semaphore and channel:
// primitives_properties.cpp.)

using namespace corewise;
using namespace corewise::tests;

namespace {

/// The waiters, in their order, and the words that were said.
struct queue {
  std::deque<std::size_t> waiting;
  std::string said;

  void say(std::size_t who, const char* what) { said += said_by(who, what); }
  void wait(std::size_t who) { waiting.push_back(who); }
  void pass_one(const char* what) {
    say(waiting.front(), what);
    waiting.pop_front();
  }
  void pass_all(const char* what) {
    while (!waiting.empty()) pass_one(what);
  }
  bool leave(std::size_t who) { return std::erase(waiting, who) != 0; }
};

/// Takes the steps that all tests have: stops a coroutine, or destroys one. Returns whether it was such a
/// step.
bool somebody_leaves(int kind, std::size_t which, company& people, queue& plain,
                     const char* stopped = "stopped") {
  if (people.next() == 0 || static_cast<unsigned>(kind) % 8 > 1) return false;
  const std::size_t who = which % people.next();
  if (static_cast<unsigned>(kind) % 8 == 0) {
    people.stop(who);
    if (plain.leave(who)) plain.say(who, stopped);
  } else {
    people.destroy(who);
    plain.leave(who);
  }
  return true;
}

/// Returns a coroutine that awaits the result of `wait(token)`, and says whether it passed.
template <class Wait> auto waits(company& people, Wait wait) {
  return [&people, wait](std::stop_token stop, std::size_t who) -> task<> {
    const bool passed = co_await wait(std::move(stop));
    people.said += said_by(who, passed ? "passed" : "stopped");
  };
}

} // namespace

TEST_CASE("event: waiters go on in order when it is set, and no coroutine waits while it is set") {
  CHECK(rc::check([](const steps& all) {
    event real;
    bool set = false;
    queue plain;
    company people;
    const auto wait = waits(people, [&](std::stop_token stop) { return real.wait(std::move(stop)); });
    for (const auto& [kind, which] : all) {
      if (somebody_leaves(kind, which, people, plain)) continue;
      switch (static_cast<unsigned>(kind) % 8) {
      case 2:
        set = true;
        plain.pass_all("passed");
        real.set();
        break;
      case 3:
        set = false;
        real.reset();
        break;
      default:
        if (set)
          plain.say(people.next(), "passed");
        else
          plain.wait(people.next());
        people.join(wait);
      }
      RC_ASSERT(people.said == plain.said);
      RC_ASSERT(real.is_set() == set);
    }
  }));
}

TEST_CASE("auto_reset_event: each set lets one coroutine pass, the first waiter or the next to come") {
  CHECK(rc::check([](const steps& all) {
    auto_reset_event real;
    bool set = false;
    queue plain;
    company people;
    const auto wait = waits(people, [&](std::stop_token stop) { return real.wait(std::move(stop)); });
    for (const auto& [kind, which] : all) {
      if (somebody_leaves(kind, which, people, plain)) continue;
      switch (static_cast<unsigned>(kind) % 8) {
      case 2:
      case 3:
        if (plain.waiting.empty())
          set = true;
        else
          plain.pass_one("passed");
        real.set();
        break;
      case 4:
        set = false;
        real.reset();
        break;
      default:
        if (std::exchange(set, false))
          plain.say(people.next(), "passed");
        else
          plain.wait(people.next());
        people.join(wait);
      }
      RC_ASSERT(people.said == plain.said);
      RC_ASSERT(real.is_set() == set);
    }
  }));
}

TEST_CASE("mutex: one coroutine has it, and hands it to the longest waiter") {
  CHECK(rc::check([](const steps& all) {
    mutex real;
    bool locked = false;
    mutex_guard held; // a coroutine holds it
    queue plain;
    company people;
    const auto lock = [&](std::stop_token stop, std::size_t who) -> task<> {
      mutex_guard guard = co_await real.lock(std::move(stop));
      people.said += said_by(who, guard ? "passed" : "stopped");
      if (guard) held = std::move(guard);
    };
    for (const auto& [kind, which] : all) {
      if (somebody_leaves(kind, which, people, plain)) continue;
      switch (static_cast<unsigned>(kind) % 8) {
      case 2:
      case 3:
        if (!locked) break;
        locked = !plain.waiting.empty();
        if (locked) plain.pass_one("passed");
        if (held)
          std::exchange(held, {}).unlock();
        else
          real.unlock();
        break;
      case 4: RC_ASSERT(real.try_lock() == !std::exchange(locked, true)); break;
      default:
        if (!std::exchange(locked, true))
          plain.say(people.next(), "passed");
        else
          plain.wait(people.next());
        people.join(lock);
      }
      RC_ASSERT(people.said == plain.said);
    }
  }));
}

TEST_CASE("latch: waiters go on once when it has counted down, and later ones go on at once") {
  CHECK(rc::check([](const steps& all) {
    std::uint32_t left = *rc::gen::inRange<std::uint32_t>(0, 6);
    latch real(left);
    queue plain;
    company people;
    const auto wait = waits(people, [&](std::stop_token stop) { return real.wait(std::move(stop)); });
    for (const auto& [kind, which] : all) {
      if (somebody_leaves(kind, which, people, plain)) continue;
      if (static_cast<unsigned>(kind) % 8 == 2) {
        const auto by = static_cast<std::uint32_t>(which % 3);
        left -= std::min(by, left);
        if (left == 0) plain.pass_all("passed");
        real.count_down(by);
      } else {
        if (left == 0)
          plain.say(people.next(), "passed");
        else
          plain.wait(people.next());
        people.join(wait);
      }
      RC_ASSERT(people.said == plain.said);
      RC_ASSERT(real.try_wait() == (left == 0));
    }
  }));
}

TEST_CASE("barrier: in each phase all go on in order when the last has arrived, and a stopped waiter has not "
          "arrived") {
  CHECK(rc::check([](const steps& all) {
    std::size_t members = *rc::gen::inRange<std::size_t>(1, 5);
    barrier real(static_cast<std::uint32_t>(members));
    queue plain;
    company people;
    const auto arrive =
        waits(people, [&](std::stop_token stop) { return real.arrive_and_wait(std::move(stop)); });
    for (const auto& [kind, which] : all) {
      if (somebody_leaves(kind, which, people, plain)) continue;
      if (static_cast<unsigned>(kind) % 8 == 2) {
        if (members == 1) continue; // one member has to be left
        --members;
        if (plain.waiting.size() == members) plain.pass_all("passed");
        real.arrive_and_drop();
      } else if (plain.waiting.size() + 1 == members) {
        plain.pass_all("passed");
        plain.say(people.next(), "passed");
        people.join(arrive);
      } else {
        plain.wait(people.next());
        people.join(arrive);
      }
      RC_ASSERT(people.said == plain.said);
    }
  }));
}

TEST_CASE("oneshot: the receiver gets the value once, before or after it is sent") {
  CHECK(rc::check([](const steps& all) {
    oneshot<int> real;
    bool sent = false;
    bool received = false;
    queue plain;
    company people;
    const auto receive = waits(people, [&](std::stop_token stop) -> task<bool> {
      const std::optional<int> value = co_await real.receive(std::move(stop));
      co_return value == 7;
    });
    for (const auto& [kind, which] : all) {
      if (somebody_leaves(kind, which, people, plain)) continue;
      if (static_cast<unsigned>(kind) % 4 == 2) {
        if (std::exchange(sent, true)) continue;
        received = !plain.waiting.empty();
        plain.pass_all("passed");
        real.send(7);
      } else if (plain.waiting.empty() && !received) { // one coroutine waits at a time
        if (sent) {
          plain.say(people.next(), "passed");
          received = true;
        } else {
          plain.wait(people.next());
        }
        people.join(receive);
      }
      RC_ASSERT(people.said == plain.said);
    }
  }));
}
