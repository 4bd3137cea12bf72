#include "queues/fork_deque.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <rapidcheck/state.h>

#include <algorithm>
#include <deque>

// Any sequence of calls by one thread has the same effect on the fork deque as on a plain deque.

using namespace corewise;

namespace {

constexpr std::size_t no_task = ~std::size_t{0};

struct plain_deque {
  std::deque<std::size_t> waiting;
  std::size_t next = 0;
  std::size_t marked = 0; ///< tasks from this number on were pushed since the mark
  bool mark_holds = true; ///< no task below the mark was popped

  bool ends_above_mark() const { return !waiting.empty() && waiting.back() >= marked; }
  bool begins_above_mark() const { return !waiting.empty() && waiting.front() >= marked; }
  void pop() {
    if (waiting.empty()) return;
    if (waiting.back() < marked) mark_holds = false;
    waiting.pop_back();
  }
};

struct real_deque {
  explicit real_deque(std::uint64_t start) : bottom(start), top(start), mark(start) {}

  task_header* task(std::size_t n) {
    while (tasks.size() <= n) tasks.emplace_back();
    return &tasks[n];
  }
  std::size_t number(const task_header* t) const {
    for (std::size_t n = 0; n < tasks.size(); ++n)
      if (&tasks[n] == t) return n;
    return no_task;
  }

  std::deque<task_header> tasks; // a deque: its elements do not move
  std::atomic<std::uint64_t> bottom;
  std::atomic<std::uint64_t> top;
  detail::fork_deque queue{bottom, top, 2};
  std::uint64_t mark; ///< the next position when it was set
};

using command = rc::state::Command<plain_deque, real_deque>;

void check_size(const plain_deque& then, const real_deque& real) {
  RC_ASSERT(real.queue.size() == then.waiting.size());
  RC_ASSERT(real.queue.empty() == then.waiting.empty());
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

struct push_row : command {
  std::uint32_t count = *rc::gen::inRange<std::uint32_t>(1, 6);

  void apply(plain_deque& q) const override {
    for (std::uint32_t i = 0; i < count; ++i) q.waiting.push_back(q.next++);
  }
  void run(const plain_deque& q, real_deque& real) const override {
    task_header* const newest = real.task(q.next + count - 1);
    const auto before = [&](task_header* t) { return real.task(std::max(real.number(t), q.next + 1) - 1); };
    const std::uint64_t room = real.queue.capacity() - q.waiting.size();
    RC_ASSERT(real.queue.push_row(newest, count, before) == (count <= room));
    if (count > room) {
      RC_ASSERT(real.queue.size() == q.waiting.size());
      RC_ASSERT(real.queue.reserve(count));
      RC_ASSERT(real.queue.push_row(newest, count, before));
    }
    check_size(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "push a row of " << count; }
};

struct pop : command {
  void apply(plain_deque& q) const override { q.pop(); }
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
    RC_ASSERT(what == (q.waiting.empty() ? outcome::empty : outcome::task)); // alone, it never loses a race
    RC_ASSERT(real.number(t) == (q.waiting.empty() ? no_task : q.waiting.front()));
    check_size(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "steal"; }
};

struct take_back : command {
  /// 0: the newest task that waits; n: the n-th newest that was ever pushed, wherever it is.
  std::size_t which = *rc::gen::inRange<std::size_t>(0, 4);

  std::size_t wanted(const plain_deque& q) const {
    if (which == 0) return q.waiting.empty() ? 0 : q.waiting.back();
    return q.next >= which ? q.next - which : 0;
  }
  bool lies_there(const plain_deque& q) const { return !q.waiting.empty() && q.waiting.back() == wanted(q); }
  void apply(plain_deque& q) const override {
    if (lies_there(q)) q.pop();
  }
  void run(const plain_deque& q, real_deque& real) const override {
    RC_ASSERT(real.queue.take_back(real.task(wanted(q))) == lies_there(q));
    check_size(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "take back " << which; }
};

// --- tasks pushed since a mark

struct set_mark : command {
  void apply(plain_deque& q) const override {
    q.marked = q.next;
    q.mark_holds = true;
  }
  void run(const plain_deque& /*q*/, real_deque& real) const override {
    real.mark = real.queue.next_position();
  }
  void show(std::ostream& out) const override { out << "mark"; }
};

struct pop_since : command {
  void checkPreconditions(const plain_deque& q) const override { RC_PRE(q.mark_holds); }
  void apply(plain_deque& q) const override {
    if (q.ends_above_mark()) q.pop();
  }
  void run(const plain_deque& q, real_deque& real) const override {
    RC_ASSERT(real.number(real.queue.pop_since(real.mark)) ==
              (q.ends_above_mark() ? q.waiting.back() : no_task));
    check_size(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "pop since the mark"; }
};

struct steal_since : command {
  void checkPreconditions(const plain_deque& q) const override { RC_PRE(q.mark_holds); }
  void apply(plain_deque& q) const override {
    if (q.begins_above_mark()) q.waiting.pop_front();
  }
  void run(const plain_deque& q, real_deque& real) const override {
    const auto [what, t] = real.queue.steal_since(real.mark);
    using outcome = detail::fork_deque::outcome;
    RC_ASSERT(what == (q.begins_above_mark() ? outcome::task : outcome::empty));
    RC_ASSERT(real.number(t) == (q.begins_above_mark() ? q.waiting.front() : no_task));
    check_size(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "steal since the mark"; }
};

} // namespace

TEST_CASE("fork deque: any sequence of pushes, pops and steals, with a mark or without, has the same effect "
          "as on a plain deque") {
  CHECK(rc::check([] {
    real_deque real(*rc::gen::element<std::uint64_t>(0, 3, 0xFFFFFFFE));
    rc::state::check(plain_deque{}, real,
                     rc::state::gen::execOneOfWithArgs<push, push, push_row, pop, steal, take_back, set_mark,
                                                       pop_since, steal_since>());
  }));
}
