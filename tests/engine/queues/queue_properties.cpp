#include "queues/class_queue.hpp"
#include "queues/worker_queues.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <rapidcheck/state.h>

#include <deque>
#include <numeric>

// Any sequence of calls by one thread has the same effect on each queue as on a plain one.

using namespace corewise;

namespace {

constexpr std::size_t no_task = ~std::size_t{0};
constexpr std::uint32_t ring_capacity = 8;
constexpr std::uint32_t inbox_capacity = 4;
constexpr std::uint32_t unbounded = 0;
constexpr std::uint32_t class_ring_capacity = 4;

/// The tasks that a queue should hold, by number.
struct plain_queue {
  std::deque<std::size_t> waiting;
  std::size_t next = 0; ///< number of the next new task
  std::size_t put = 0;  ///< how many tasks were put in behind the others

  std::uint32_t size() const { return static_cast<std::uint32_t>(waiting.size()); }
  /// Counts tasks that were put in front as not taken.
  std::size_t taken() const { return put - waiting.size(); }
  void push() { push_again(next++); }
  void push_again(std::size_t n) {
    waiting.push_back(n);
    ++put;
  }
  void push_front(std::size_t count) {
    for (std::size_t i = count; i-- > 0;) waiting.push_front(next + i);
    next += count;
  }
  void drop(std::size_t n) {
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(n));
  }
};

/// All queues of a worker and its group, and tasks with numbers.
struct real_queues {
  /// The ring's positions begin at `start`; the inbox has room for `inbox_size`.
  explicit real_queues(std::uint32_t start = 0, std::uint32_t inbox_size = inbox_capacity)
      : inbox_cells(inbox_size),
        started_at(start) {
    entry.owner.ring_tail = start;
    entry.shared.ring_head = std::uint64_t{start} << 32 | start;
  }

  task_header* task(std::size_t n) {
    while (tasks.size() <= n) tasks.emplace_back();
    return &tasks[n];
  }
  std::size_t number(const task_header* t) const {
    for (std::size_t n = 0; n < tasks.size(); ++n)
      if (&tasks[n] == t) return n;
    return no_task;
  }
  std::vector<std::size_t> numbers(detail::task_chain chain) const {
    std::vector<std::size_t> out;
    const std::uint32_t size = chain.size;
    while (const task_header* t = chain.pop()) out.push_back(number(t));
    RC_ASSERT(out.size() == size);
    return out;
  }

  std::deque<task_header> tasks; // a deque: its elements do not move
  board_entry entry;
  std::vector<detail::local_queue::cell> ring_cells = std::vector<detail::local_queue::cell>(ring_capacity);
  std::vector<detail::inbox::cell> inbox_cells;
  detail::sole_taker takers{false};
  detail::worker_queues of_worker{detail::queue_memory{entry, ring_cells, inbox_cells}, takers};
  detail::injection_queue injection;
  std::vector<detail::inbox::cell> class_cells = std::vector<detail::inbox::cell>(class_ring_capacity);
  detail::class_queue of_class{class_cells};
  std::uint32_t started_at;
};

using command = rc::state::Command<plain_queue, real_queues>;

std::vector<std::size_t> oldest(const plain_queue& q, std::size_t n) {
  return {q.waiting.begin(), q.waiting.begin() + static_cast<std::ptrdiff_t>(n)};
}
std::size_t front(const plain_queue& q) { return q.waiting.empty() ? no_task : q.waiting.front(); }

// --- the ring

void check_ring(const plain_queue& then, const real_queues& real) {
  const detail::local_queue& ring = real.of_worker.ring;
  RC_ASSERT(ring.size() == then.size());
  RC_ASSERT(ring.taken() - real.started_at == static_cast<std::uint32_t>(then.taken()));
  RC_ASSERT(real.of_worker.ready() == !then.waiting.empty());
}

struct ring_push : command {
  void apply(plain_queue& q) const override {
    if (q.size() < ring_capacity) q.push();
  }
  void run(const plain_queue& q, real_queues& real) const override {
    RC_ASSERT(real.of_worker.ring.push(real.task(q.next)) == (q.size() < ring_capacity));
    check_ring(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "push"; }
};

struct ring_pop : command {
  void apply(plain_queue& q) const override { q.drop(std::min<std::size_t>(1, q.size())); }
  void run(const plain_queue& q, real_queues& real) const override {
    RC_ASSERT(real.number(real.of_worker.ring.pop()) == front(q));
    check_ring(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "pop"; }
};

struct ring_exchange : command {
  void apply(plain_queue& q) const override {
    if (q.size() == ring_capacity) return;
    q.push();
    q.drop(1);
  }
  void run(const plain_queue& q, real_queues& real) const override {
    task_header* t = real.task(q.next);
    const bool put = real.of_worker.ring.exchange_oldest(t);
    RC_ASSERT(put == (q.size() < ring_capacity));
    RC_ASSERT(real.number(t) == (put && q.size() != 0 ? front(q) : q.next));
    check_ring(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "exchange the oldest"; }
};

struct ring_shed : command {
  void checkPreconditions(const plain_queue& q) const override { RC_PRE(q.size() == ring_capacity); }
  void apply(plain_queue& q) const override { q.drop(ring_capacity / 2); }
  void run(const plain_queue& q, real_queues& real) const override {
    RC_ASSERT(real.numbers(real.of_worker.ring.shed()) == oldest(q, ring_capacity / 2));
    check_ring(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "shed"; }
};

struct ring_steal : command {
  std::uint32_t most = *rc::gen::inRange<std::uint32_t>(0, ring_capacity + 2);

  std::size_t amount(const plain_queue& q) const { return std::min((q.size() + 1) / 2, most); }
  void apply(plain_queue& q) const override { q.drop(amount(q)); }
  void run(const plain_queue& q, real_queues& real) const override {
    RC_ASSERT(real.numbers(real.of_worker.ring.steal(most)) == oldest(q, amount(q)));
    check_ring(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "steal at most " << most; }
};

struct ring_push_front : command {
  std::uint32_t count = *rc::gen::inRange<std::uint32_t>(0, ring_capacity + 2);

  bool fits(const plain_queue& q) const { return q.size() + count <= ring_capacity; }
  void apply(plain_queue& q) const override {
    if (fits(q)) q.push_front(count);
  }
  void run(const plain_queue& q, real_queues& real) const override {
    detail::task_chain chain;
    for (std::uint32_t i = 0; i < count; ++i) chain.push(real.task(q.next + i));
    RC_ASSERT(real.of_worker.ring.push_front(chain) == (fits(q) ? count : 0));
    std::vector<std::size_t> kept(fits(q) ? 0 : count);
    std::iota(kept.begin(), kept.end(), q.next);
    RC_ASSERT(real.numbers(chain) == kept);
    check_ring(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "push " << count << " in front"; }
};

// --- the inbox, bounded or not

void check_inbox(const plain_queue& then, const real_queues& real) {
  const detail::ingress& in = real.of_worker.in;
  RC_ASSERT(in.size() == then.size());
  RC_ASSERT(in.ready() == !then.waiting.empty());
  RC_ASSERT(in.put() == then.put);
  RC_ASSERT(in.taken() == then.taken());
}

struct inbox_push : command {
  void apply(plain_queue& q) const override {
    if (q.size() < inbox_capacity) q.push();
  }
  void run(const plain_queue& q, real_queues& real) const override {
    RC_ASSERT(real.of_worker.in.push(real.task(q.next)) == (q.size() < inbox_capacity));
    check_inbox(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "push"; }
};

struct inbox_pop : command {
  void apply(plain_queue& q) const override { q.drop(std::min<std::size_t>(1, q.size())); }
  void run(const plain_queue& q, real_queues& real) const override {
    RC_ASSERT(real.number(real.of_worker.in.pop()) == front(q));
    check_inbox(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "pop"; }
};

struct unbounded_push : command {
  void apply(plain_queue& q) const override { q.push(); }
  void run(const plain_queue& q, real_queues& real) const override {
    RC_ASSERT(real.of_worker.in.push(real.task(q.next)));
    check_inbox(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "push"; }
};

/// Takes the oldest task and puts it back behind the others, as a task that yields does.
struct inbox_pop_and_push : command {
  void apply(plain_queue& q) const override {
    if (q.waiting.empty()) return;
    const std::size_t n = front(q);
    q.drop(1);
    q.push_again(n);
  }
  void run(const plain_queue& q, real_queues& real) const override {
    task_header* t = real.of_worker.in.pop();
    RC_ASSERT(real.number(t) == front(q));
    if (t != nullptr) RC_ASSERT(real.of_worker.in.push(t));
    check_inbox(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "pop and push"; }
};

// --- the LIFO slot

void check_slot(const plain_queue& then, const real_queues& real) {
  RC_ASSERT(real.of_worker.lifo.empty() == then.waiting.empty());
  RC_ASSERT(real.number(real.of_worker.lifo.peek()) == front(then));
}

struct slot_put : command {
  void apply(plain_queue& q) const override {
    q.waiting.clear();
    q.push();
  }
  void run(const plain_queue& q, real_queues& real) const override {
    RC_ASSERT(real.number(real.of_worker.lifo.put(real.task(q.next))) == front(q));
    check_slot(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "put"; }
};

struct slot_take : command {
  void apply(plain_queue& q) const override { q.waiting.clear(); }
  void run(const plain_queue& q, real_queues& real) const override {
    RC_ASSERT(real.number(real.of_worker.lifo.take()) == front(q));
    check_slot(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "take"; }
};

// --- the injection queue

struct injection_push : command {
  std::uint32_t count = *rc::gen::inRange<std::uint32_t>(0, 5);

  void apply(plain_queue& q) const override {
    for (std::uint32_t i = 0; i < count; ++i) q.push();
  }
  void run(const plain_queue& q, real_queues& real) const override {
    detail::task_chain chain;
    for (std::uint32_t i = 0; i < count; ++i) chain.push(real.task(q.next + i));
    if (count == 1)
      real.injection.push(chain.first);
    else
      real.injection.push(chain);
    RC_ASSERT(real.injection.size() == nextState(q).size());
    RC_ASSERT(real.injection.put() == nextState(q).put);
  }
  void show(std::ostream& out) const override { out << "push " << count; }
};

struct injection_pop : command {
  std::uint32_t most = *rc::gen::inRange<std::uint32_t>(0, 8);

  void apply(plain_queue& q) const override { q.drop(std::min(most, q.size())); }
  void run(const plain_queue& q, real_queues& real) const override {
    RC_ASSERT(real.numbers(real.injection.pop(most)) == oldest(q, std::min(most, q.size())));
    RC_ASSERT(real.injection.size() == nextState(q).size());
  }
  void show(std::ostream& out) const override { out << "pop at most " << most; }
};

// --- the queue of a class: a ring, its overflow, and the word

struct plain_class_queue : plain_queue {
  bool word = false; ///< set from the first push until a pop finds nothing
};

using class_command = rc::state::Command<plain_class_queue, real_queues>;

void check_class(const plain_class_queue& then, const real_queues& real) {
  const detail::class_queue& queue = real.of_class;
  RC_ASSERT(queue.waiting() == then.word);
  RC_ASSERT(queue.ready() == !then.waiting.empty());
  RC_ASSERT(queue.depth() == then.size());
  RC_ASSERT(queue.placed() == then.put);
}

struct class_push : class_command {
  std::uint32_t count = *rc::gen::inRange<std::uint32_t>(1, class_ring_capacity + 2);

  void apply(plain_class_queue& q) const override {
    for (std::uint32_t i = 0; i < count; ++i) q.push();
    q.word = true;
  }
  void run(const plain_class_queue& q, real_queues& real) const override {
    for (std::uint32_t i = 0; i < count; ++i) real.of_class.push(real.task(q.next + i));
    check_class(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "push " << count; }
};

struct class_pop : class_command {
  std::uint32_t count = *rc::gen::inRange<std::uint32_t>(1, class_ring_capacity + 2);

  void apply(plain_class_queue& q) const override {
    if (q.size() < count) q.word = false;
    q.drop(std::min(count, q.size()));
  }
  void run(const plain_class_queue& q, real_queues& real) const override {
    for (std::uint32_t i = 0; i < count; ++i)
      RC_ASSERT(real.number(real.of_class.pop()) == (i < q.size() ? q.waiting[i] : no_task));
    check_class(nextState(q), real);
  }
  void show(std::ostream& out) const override { out << "pop " << count; }
};

template <class... Commands> void any_sequence(real_queues& real) {
  rc::state::check(plain_queue{}, real, rc::state::gen::execOneOfWithArgs<Commands...>());
}

} // namespace

TEST_CASE("local queue: any sequence of pushes, pushes in front, pops, exchanges, sheds and steals has the "
          "same effect as on a plain queue") {
  CHECK(rc::check([] {
    // Positions count modulo 2^32.
    real_queues real(*rc::gen::element<std::uint32_t>(0, 5, 0xFFFFFFF0, 0xFFFFFFFF));
    any_sequence<ring_push, ring_push, ring_push_front, ring_pop, ring_exchange, ring_shed, ring_steal>(real);
  }));
}

TEST_CASE("inbox: any sequence of pushes and pops has the same effect as on a plain bounded queue") {
  CHECK(rc::check([] {
    real_queues real;
    any_sequence<inbox_push, inbox_push, inbox_pop, inbox_pop_and_push>(real);
  }));
}

TEST_CASE("unbounded inbox: any sequence of pushes and pops has the same effect as on a plain queue") {
  CHECK(rc::check([] {
    real_queues real(0, unbounded);
    any_sequence<unbounded_push, inbox_pop, inbox_pop_and_push>(real);
  }));
}

TEST_CASE("class queue: any sequence of pushes and pops has the same effect as on a plain queue, and the "
          "word tells whether a pop found a task") {
  CHECK(rc::check([] {
    real_queues real;
    rc::state::check(plain_class_queue{}, real, rc::state::gen::execOneOfWithArgs<class_push, class_pop>());
  }));
}

TEST_CASE("LIFO slot: any sequence of puts and takes has the same effect as on a place for one task") {
  CHECK(rc::check([] {
    real_queues real;
    any_sequence<slot_put, slot_take>(real);
  }));
}

TEST_CASE("injection queue: any sequence of pushes and pops has the same effect as on a plain queue") {
  CHECK(rc::check([] {
    real_queues real;
    any_sequence<injection_push, injection_pop>(real);
  }));
}
