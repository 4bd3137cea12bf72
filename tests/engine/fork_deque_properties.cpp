#include "fork_deque.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <rapidcheck/state.h>

#include <deque>

// Any sequence of calls, by one thread, does to the fork deque what it does to a plain one.

using namespace corewise;

namespace {

constexpr std::size_t no_task = ~std::size_t{0};

struct plain_deque {
  std::deque<std::size_t> waiting;
  std::size_t next = 0;
};

struct real_deque {
  explicit real_deque(std::uint64_t start) : bottom(start), top(start) {}

  task_header* task(std::size_t n) {
    while (tasks.size() <= n) tasks.emplace_back();
    return &tasks[n];
  }
  std::size_t number(const task_header* t) const {
    for (std::size_t n = 0; n < tasks.size(); ++n)
      if (&tasks[n] == t) return n;
    return no_task;
  }

  std::deque<task_header> tasks; // stay where they are
  std::atomic<std::uint64_t> bottom;
  std::atomic<std::uint64_t> top;
  detail::fork_deque queue{bottom, top, 2};
};

using command = rc::state::Command<plain_deque, real_deque>;

void check_size(const plain_deque& then, const real_deque& real) {
  RC_ASSERT(real.queue.size() == then.waiting.size());
  RC_ASSERT(real.queue.capacity() >= then.waiting.size());
}

struct push : command {
  void apply(plain_deque& q) const override { q.waiting.push_back(q.next++); }
  void run(const plain_deque& q, real_deque& real) const override {
    RC_ASSERT(real.queue.push(real.task(q.next)));
    check_size(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "push"; }
};

struct pop : command {
  void apply(plain_deque& q) const override {
    if (!q.waiting.empty()) q.waiting.pop_back();
  }
  void run(const plain_deque& q, real_deque& real) const override {
    RC_ASSERT(real.number(real.queue.pop()) == (q.waiting.empty() ? no_task : q.waiting.back()));
    check_size(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "pop"; }
};

struct steal : command {
  void apply(plain_deque& q) const override {
    if (!q.waiting.empty()) q.waiting.pop_front();
  }
  void run(const plain_deque& q, real_deque& real) const override {
    const auto [what, t] = real.queue.steal();
    using outcome = detail::fork_deque::outcome;
    RC_ASSERT(what == (q.waiting.empty() ? outcome::empty : outcome::task)); // alone, it never loses
    RC_ASSERT(real.number(t) == (q.waiting.empty() ? no_task : q.waiting.front()));
    check_size(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "steal"; }
};

} // namespace

TEST_CASE("fork deque: any sequence of pushes, pops and thefts is that of a plain deque") {
  CHECK(rc::check([] {
    real_deque real(*rc::gen::element<std::uint64_t>(0, 3, 0xFFFFFFFE));
    rc::state::check(plain_deque{}, real, rc::state::gen::execOneOfWithArgs<push, push, pop, steal>());
  }));
}
