#pragma once

#include "queues/inbox.hpp"
#include "queues/injection_queue.hpp"

#include <corewise/policies/detail/atomic.hpp>
#include <corewise/policies/task_class.hpp>

#include <array>

// The tasks of one class (latency or background) in one domain: a ring that many threads fill and many empty
// (inbox.hpp), and behind it a list that takes the tasks that have no room in the ring, so that no task is
// refused. While the list holds tasks, newer tasks go to the list, too, and workers empty the list after the
// ring: first in, first out.
//
// Invariant: when a push has ended and no worker is between K1 and K2, the word `waiting_` is true if a task
// waits.
//
// Workers read this word before each task. The word is no count, so taking a task does not change it, and
// where no thread uses the class it stays in all caches:
//
//     producer                      consumer
//     C1  put the task in           K1  found nothing: waiting := false
//     C2  waiting := true           K2  look again; a task is there: waiting := true, look once more
//
// After C2 and K2, the word is true if a task is there. Each `:=` is an exchange, so a thread that changes
// the word has seen what the earlier changers did before their changes. If C2 came before K1, K2 sees the
// task. If C2 came after K1, the word stays true.
//
// Between K1 and K2 the word may be false while a task waits. So only threads that look again soon may trust
// it: workers between two tasks. A worker that goes to sleep looks at the queue itself (`ready`), behind the
// fences of wake_ups.hpp. tests/model/classes.pml proves both. It also proves that the protocol fails with a
// plain store in K1, without K2, with C2 before C1, without the fence, and with a sleeper that trusts the
// word.
//
// | tag     | release site       | acquire site       | publishes           | weakened              |
// |---------|--------------------|--------------------|---------------------|-----------------------|
// | waiting | push, pop:         | pop:               | that a task was put | a task waits, and the |
// |         | exchange(waiting_) | exchange(waiting_) | in                  | word is false         |
//
// Rejected: a list behind a lock alone (the thread that holds the lock may lose its CPU, and the domain
// stands still); setting the word only when it is false (then C1 and the look at the word need a fence
// between them).

namespace corewise::detail {

class alignas(128) class_queue {
 public:
  static constexpr std::size_t ring_size = 256;

  /// `cells` has a power-of-two size and must outlive the queue.
  explicit class_queue(std::span<inbox::cell> cells) noexcept : ring_(positions_, cells) {}
  class_queue(const class_queue&) = delete;
  class_queue& operator=(const class_queue&) = delete;

  /// Puts `t` in. Call from any thread. Cost: two locked instructions; a lock when the ring is full.
  void push(task_header* t) noexcept {
    if (overflow_.size() != 0 || !ring_.push(t)) overflow_.push(t); // C1
    waiting_.exchange(true, std::memory_order_acq_rel);             // C2, pairs: waiting
  }

  /// Takes the oldest task. Returns null when there is none, when a producer is still putting it in, or when there is
  /// no memory to take it out: `waiting` then stays true. Call from any thread.
  task_header* pop() noexcept {
    if (task_header* t = take()) return t;
    waiting_.exchange(false, std::memory_order_acq_rel); // K1, pairs: waiting
    if (!ready()) return nullptr;                        // K2
    waiting_.exchange(true, std::memory_order_acq_rel);  // pairs: waiting
    return take();
  }

  /// Returns whether a task waits, as far as a worker that looks again soon needs to know. Cost: one load.
  bool waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }
  /// Returns whether `pop` would find a task now.
  bool ready() const noexcept { return ring_.ready() || (ring_.size() == 0 && overflow_.size() != 0); }
  /// Returns how many tasks wait. Exact at rest.
  std::uint32_t depth() const noexcept { return ring_.size() + overflow_.size(); }
  /// Returns how many tasks were ever put in: a task counts when it is submitted and each time that it goes
  /// on. Exact at rest.
  std::uint64_t placed() const noexcept { return ring_.put() + overflow_.put(); }

 private:
  task_header* take() noexcept {
    if (task_header* t = ring_.pop()) return t;
    return ring_.size() == 0 ? overflow_.pop(1).first : nullptr;
  }

  atomic<bool> waiting_{false};
  board_entry positions_; // of the ring; on no load board
  inbox ring_;
  injection_queue overflow_;
};

/// The class queues of one domain.
class domain_classes {
 public:
  /// `cells` are `cells_needed` cells, which must outlive this.
  explicit domain_classes(std::span<inbox::cell> cells) noexcept
      : queues_{class_queue{cells.first(class_queue::ring_size)},
                class_queue{cells.last(class_queue::ring_size)}} {}

  static constexpr std::size_t cells_needed = queued_classes * class_queue::ring_size;

  /// Returns the queue of a class. Not for `normal`, which has none.
  class_queue& of(task_class c) noexcept { return queues_[static_cast<std::size_t>(c) - 1]; }
  const class_queue& of(task_class c) const noexcept { return queues_[static_cast<std::size_t>(c) - 1]; }

  bool ready() const noexcept { return queues_[0].ready() || queues_[1].ready(); }
  std::uint32_t depth() const noexcept { return queues_[0].depth() + queues_[1].depth(); }

 private:
  std::array<class_queue, queued_classes> queues_;
};

} // namespace corewise::detail
