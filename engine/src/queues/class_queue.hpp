#pragma once

#include "base/faults.hpp"
#include "queues/inbox.hpp"
#include "queues/injection_queue.hpp"

#include <corewise/policies/task_class.hpp>

#include <array>

// The tasks of one class (latency or background) in one domain: a ring that many fill and many empty (inbox.hpp), and
// behind it a list that takes what the ring has no room for, so that nothing is refused. While the list has something
// newer tasks go there too, and it is emptied after the ring: first in, first out.
//
// Workers look at one word before each task, whether anything waits. It is no count, so that taking does not change it,
// and where nobody uses the class it stays in all caches:
//
//     producer                      consumer
//     C1  put the task in           K1  nothing found: waiting := false
//     C2  waiting := true           K2  look again; something there: waiting := true, and from the beginning
//
// When both are done, the word is true if something is there. Each `:=` is an exchange, so whoever changes the word has
// seen what those did who changed it before. If C2 came before K1, K2 sees the task; if it came after K1, it stays.
//
// Between K1 and K2 the word may be false while a task waits. So it is only for those who look again soon: workers
// between two tasks. Whoever goes to sleep looks at the queue itself (`ready`), behind the fences of idle.hpp.
// tests/model/classes.pml proves both, and that it fails with a plain store in K1, without K2, with C2 before C1, without
// the fence, and with a sleeper that trusts the word.
//
// | tag     | release site                  | acquire site            | publishes              | weakened          |
// |---------|-------------------------------|-------------------------|------------------------|-------------------|
// | waiting | push, pop: exchange(waiting_) | pop: exchange(waiting_) | that a task was put in | a task waits, and |
// |         |                               |                         |                        | the word is false |
//
// Rejected: a list behind a lock alone (whoever holds it may lose its CPU, and the domain stands still); setting the
// word only when it is false (then C1 and the look at the word need a fence between them).

namespace corewise::detail {

class alignas(128) class_queue {
 public:
  static constexpr std::size_t ring_size = 256;

  /// `cells` has a power-of-two size and is the owner's to keep.
  explicit class_queue(std::span<inbox::cell> cells) noexcept : ring_(positions_, cells) {}
  class_queue(const class_queue&) = delete;
  class_queue& operator=(const class_queue&) = delete;

  /// Any thread. Cost: two locked instructions; a lock when the ring is full.
  void push(task_header* t) noexcept {
    if (overflow_.size() != 0 || !ring_.push(t)) overflow_.push(t); // C1
    interleave();
    waiting_.exchange(true, std::memory_order_acq_rel); // C2, pairs: waiting
  }

  /// Any thread. The oldest task; null when there is none, or when it is still being put in.
  task_header* pop() noexcept {
    for (;;) {
      if (task_header* t = take()) return t;
      interleave();
      waiting_.exchange(false, std::memory_order_acq_rel); // K1, pairs: waiting
      interleave();
      if (!ready()) return nullptr; // K2
      interleave();
      waiting_.exchange(true, std::memory_order_acq_rel); // pairs: waiting
    }
  }

  /// Whether there is something to take, as far as a worker that looks again soon needs to know. One load.
  bool waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }
  /// Whether `pop` would find a task now.
  bool ready() const noexcept { return ring_.ready() || (ring_.size() == 0 && overflow_.size() != 0); }
  /// How many tasks wait. Exact at rest.
  std::uint32_t depth() const noexcept { return ring_.size() + overflow_.size(); }
  /// How many were ever put in: when they were submitted, and each time that they went on. Exact at rest.
  std::uint64_t placed() const noexcept { return ring_.put() + overflow_.put(); }

 private:
  task_header* take() noexcept {
    if (task_header* t = ring_.pop()) return t;
    interleave();
    return ring_.size() == 0 ? overflow_.pop(1).first : nullptr;
  }

  std::atomic<bool> waiting_{false};
  load_slot positions_; // of the ring; on no board
  inbox ring_;
  injection_queue overflow_;
};

/// The class queues of one domain.
class domain_classes {
 public:
  /// `cells`: `cells_needed` of them, the owner's to keep.
  explicit domain_classes(std::span<inbox::cell> cells) noexcept
      : queues_{class_queue{cells.first(class_queue::ring_size)},
                class_queue{cells.last(class_queue::ring_size)}} {}

  static constexpr std::size_t cells_needed = queued_classes * class_queue::ring_size;

  /// Not for `normal`, which has none.
  class_queue& of(task_class c) noexcept { return queues_[static_cast<std::size_t>(c) - 1]; }
  const class_queue& of(task_class c) const noexcept { return queues_[static_cast<std::size_t>(c) - 1]; }

  bool ready() const noexcept { return queues_[0].ready() || queues_[1].ready(); }
  std::uint32_t depth() const noexcept { return queues_[0].depth() + queues_[1].depth(); }

 private:
  std::array<class_queue, queued_classes> queues_;
};

} // namespace corewise::detail
