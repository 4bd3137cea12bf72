#pragma once

#include "queues/sole_taker.hpp"

#include <corewise/engine/detail/task_header.hpp>
#include <corewise/policies/detail/atomic.hpp>
#include <corewise/policies/load_board.hpp>

// The LIFO slot of a worker: the task that the worker pushed or woke last runs next, while its data is still
// in the cache.
//
// Invariant: only the owner fills the slot; each task in it leaves it by one exchange (or, where the owner
// alone takes, by one load and store).
//
// Other threads take a task out by age only (slot_watch.hpp), and when the engine has ended. Where no other thread
// takes (sole_taker.hpp) the owner takes by a load and a store. The word lives in the worker's entry of the
// load board.
//
// | tag  | release site              | acquire site        | publishes | weakened                      |
// |------|---------------------------|---------------------|-----------|-------------------------------|
// | next | put: store, put: exchange | take, put: exchange | the task  | a thief runs a half-made task |

namespace corewise::detail {

class lifo_slot {
 public:
  lifo_slot(board_entry& entry, sole_taker& takers) noexcept : word_(entry.owner.lifo), takers_(takers) {}

  /// Puts `t` into the slot. Returns the task that was in it, or null. Owner only. Cost: a plain store when
  /// the slot is empty.
  task_header* put(task_header* t) noexcept {
    if (word_.load(std::memory_order_relaxed) == nullptr) { // no other thread fills it
      word_.store(t, std::memory_order_release);            // pairs: next
      return nullptr;
    }
    return static_cast<task_header*>(word_.exchange(t, std::memory_order_acq_rel)); // pairs: next
  }

  /// Takes the task, or returns null. Owner only. Cost: an exchange where other threads take too
  /// (sole_taker.hpp).
  task_header* take_own() noexcept {
    if (!takers_.begin_alone()) return take();
    auto* const t = static_cast<task_header*>(word_.load(std::memory_order_relaxed)); // own
    word_.store(nullptr, std::memory_order_relaxed);
    takers_.end_alone();
    return t;
  }

  /// Takes the task, or returns null. Call from any thread, if the worker is not the sole taker.
  task_header* take() noexcept {
    return static_cast<task_header*>(word_.exchange(nullptr, std::memory_order_acq_rel)); // pairs: next
  }

  /// Returns whether the slot is empty now. Call from any thread.
  bool empty() const noexcept { return peek() == nullptr; }
  /// Returns the address of the task that is in the slot now; do not dereference it. Call from any thread.
  const task_header* peek() const noexcept {
    return static_cast<const task_header*>(word_.load(std::memory_order_relaxed));
  }

 private:
  atomic<void*>& word_;
  sole_taker& takers_;
};

} // namespace corewise::detail
