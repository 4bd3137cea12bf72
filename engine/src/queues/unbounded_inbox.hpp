#pragma once

#include "base/faults.hpp"

#include <corewise/engine/detail/task_header.hpp>
#include <corewise/policies/detail/atomic.hpp>
#include <corewise/policies/load_board.hpp>

#include <bit>

// A worker's inbox where no inbox may be full: an unbounded list of many producers and one consumer, the
// worker that owns it. No other thread may take from it, so it is for engines in which no worker steals.
//
// Invariant: each task whose producer has linked it, and before which no link is missing, can be reached from
// `first`.
//
//     stub or      ┌──next──┐   ┌──next──┐
//     first  ──► task ──► task ──► task  ◄── last      producers: exchange `last`, then link the one before
//                                                      owner: follow `next` from `first`
//
// A producer is wait-free: it does the same few steps whatever other threads do. Between its exchange and its
// link the list is cut. The owner sees the end of the list there, though complete tasks may lie behind it. No
// wake-up is lost: the producer that links last wakes the owner then (wake_ups.hpp; P1 is both steps).
//
// The positions that the load board shows need a count, and an exchange counts nothing. So a producer pays
// one more locked instruction, on the line that its exchange takes as well.
//
// | tag    | release site          | acquire site         | publishes            | weakened               |
// |--------|-----------------------|----------------------|----------------------|------------------------|
// | end    | push: exchange        | push: exchange       | that the next of the | a producer's link is   |
// |        |                       |                      | last task is null    | overwritten with null, |
// |        |                       |                      |                      | and tasks are lost     |
// | linked | push: store of `next` | pop, ready: its load | the task that is     | the owner runs a       |
// |        |                       |                      | linked               | half-made task         |
//
// The counts (relaxed) are for the load board only. A producer counts a task before it links it, so the
// difference is never negative.
//
// Source: Dmitry Vyukov's intrusive MPSC queue; Nio's queues are of this kind.

namespace corewise::detail {

class unbounded_inbox {
 public:
  /// `entry` must outlive the inbox. Do not move the inbox: tasks are linked to its stub.
  explicit unbounded_inbox(board_entry& entry) noexcept : entry_(entry) {
    last().store(word(&stub_), std::memory_order_relaxed); // no other thread knows of it yet
  }
  unbounded_inbox(const unbounded_inbox&) = delete;
  unbounded_inbox& operator=(const unbounded_inbox&) = delete;

  /// Puts `t` in. Wait-free. Call from any thread. Cost: two locked instructions on one line.
  void push(task_header* t) noexcept {
    entry_.producers.inbox_in.fetch_add(1, std::memory_order_relaxed);
    link(t);
  }

  /// Takes the oldest task. Returns null when there is none or when it cannot be reached yet. Owner only.
  task_header* pop() noexcept {
    [[maybe_unused]] const one_at_a_time::turn owner(owners_);
    task_header* first = first_;
    task_header* second = next_of(first);
    if (first == &stub_) {
      if (second == nullptr) return nullptr;
      first = first_ = second;
      second = next_of(first);
    }
    if (second == nullptr) {
      if (!is_last(first)) return nullptr; // a producer is about to link
      link(&stub_);                        // so that the last task has a successor
      second = next_of(first);
      if (second == nullptr) return nullptr; // another task came between
    }
    first_ = second;
    add_own(entry_.owner.inbox_out, 1);
    return first;
  }

  /// Returns whether `pop` would find a task now. Owner only.
  bool ready() const noexcept {
    [[maybe_unused]] const one_at_a_time::turn owner(owners_);
    return next_of(first_) != nullptr || (first_ != &stub_ && is_last(first_));
  }

 private:
  static std::uintptr_t word(const task_header* t) noexcept { return reinterpret_cast<std::uintptr_t>(t); }
  static task_header* next_of(task_header* t) noexcept {
    return atomic_ref(t->next).load(std::memory_order_acquire); // pairs: linked
  }
  atomic<std::uintptr_t>& last() const noexcept { return entry_.producers.inbox_last; }
  bool is_last(const task_header* t) const noexcept {
    return last().load(std::memory_order_relaxed) == word(t); // no task follows it
  }

  void link(task_header* t) noexcept {
    atomic_ref(t->next).store(nullptr, std::memory_order_relaxed);
    const std::uintptr_t before = last().exchange(word(t), std::memory_order_acq_rel); // pairs: end
    atomic_ref(std::bit_cast<task_header*>(before)->next)
        .store(t, std::memory_order_release); // pairs: linked
  }

  board_entry& entry_;
  task_header stub_;
  task_header* first_ = &stub_; // written by the owner
  [[no_unique_address]] mutable one_at_a_time owners_;
};

} // namespace corewise::detail
