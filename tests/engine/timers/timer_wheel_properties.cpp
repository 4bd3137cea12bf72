#include "timers/timer_wheel.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <rapidcheck/state.h>

#include <algorithm>
#include <deque>
#include <map>

// Any sequence of setting, removing and turning has the same effect on the wheel as on a sorted map.

using namespace corewise::detail;

namespace {

using tick = timer_wheel::tick;
constexpr std::size_t timer_count = 64;

struct plain_timers {
  tick now = 0;
  std::multimap<tick, std::size_t> by_deadline;

  bool has(std::size_t timer) const {
    return std::ranges::any_of(by_deadline, [&](const auto& entry) { return entry.second == timer; });
  }
};

struct real_timers {
  timer_wheel wheel;
  std::deque<timer_node> nodes = std::deque<timer_node>(timer_count);
};

using command = rc::state::Command<plain_timers, real_timers>;

/// Distances of every magnitude, so that every level is used.
tick any_distance() {
  const auto bits = *rc::gen::inRange(0, 30);
  return *rc::gen::inRange<tick>(0, tick{1} << bits);
}

struct set_one : command {
  std::size_t timer = *rc::gen::inRange<std::size_t>(0, timer_count);
  tick distance = any_distance();
  tick behind = *rc::gen::inRange<tick>(0, 3); // the caller's clock may be late

  void checkPreconditions(const plain_timers& plain) const override { RC_PRE(!plain.has(timer)); }
  void apply(plain_timers& plain) const override { plain.by_deadline.emplace(plain.now + distance, timer); }
  void run(const plain_timers& plain, real_timers& real) const override {
    timer_node& t = real.nodes[timer];
    t.deadline_ns = static_cast<std::int64_t>((plain.now + distance) << timer_wheel::tick_bits);
    real.wheel.insert(t, plain.now - std::min(behind, plain.now));
    RC_ASSERT(real.wheel.size() == plain.by_deadline.size() + 1);
    RC_ASSERT(real.wheel.next() <= plain.now + distance);
  }
  void show(std::ostream& out) const override { out << "insert " << timer << " in " << distance; }
};

struct remove_one : command {
  std::size_t timer = *rc::gen::inRange<std::size_t>(0, timer_count);

  void checkPreconditions(const plain_timers& plain) const override { RC_PRE(plain.has(timer)); }
  void apply(plain_timers& plain) const override {
    std::erase_if(plain.by_deadline, [&](const auto& entry) { return entry.second == timer; });
  }
  void run(const plain_timers& plain, real_timers& real) const override {
    real.wheel.remove(real.nodes[timer]);
    RC_ASSERT(real.wheel.size() == plain.by_deadline.size() - 1);
    if (plain.by_deadline.size() == 1) RC_ASSERT(real.wheel.next() == timer_wheel::never);
  }
  void show(std::ostream& out) const override { out << "remove " << timer; }
};

struct turn : command {
  tick distance = any_distance();
  std::size_t at_once = *rc::gen::inRange<std::size_t>(1, 8);

  void apply(plain_timers& plain) const override {
    plain.now += distance;
    plain.by_deadline.erase(plain.by_deadline.begin(), plain.by_deadline.upper_bound(plain.now));
  }
  void run(const plain_timers& plain, real_timers& real) const override {
    plain_timers after = plain;
    apply(after);
    while (!real.wheel.advance(after.now, at_once)) RC_ASSERT(real.wheel.next() == 0U);
    tick last = 0;
    std::size_t fired = 0;
    while (const timer_node* t = real.wheel.pop_due()) {
      const tick when = timer_wheel::after(t->deadline_ns);
      RC_ASSERT(when <= after.now);
      RC_ASSERT(when >= last);
      last = when;
      ++fired;
    }
    RC_ASSERT(fired == plain.by_deadline.size() - after.by_deadline.size());
    RC_ASSERT(real.wheel.size() == after.by_deadline.size());
    if (after.by_deadline.empty())
      RC_ASSERT(real.wheel.next() == timer_wheel::never);
    else
      RC_ASSERT(real.wheel.next() <= after.by_deadline.begin()->first && real.wheel.next() > after.now);
  }
  void show(std::ostream& out) const override { out << "turn by " << distance; }
};

} // namespace

TEST_CASE("timer wheel: any sequence of operations has the same effect as on a sorted map") {
  CHECK(rc::check([] {
    const auto begin = *rc::gen::element<tick>(0, 1, 63, 4095, (tick{1} << 30) - 1, tick{1} << 40);
    plain_timers plain{.now = begin, .by_deadline = {}};
    real_timers real;
    RC_ASSERT(real.wheel.advance(begin, 1));
    rc::state::check(plain, real, rc::state::gen::execOneOfWithArgs<set_one, set_one, remove_one, turn>());
  }));
}
