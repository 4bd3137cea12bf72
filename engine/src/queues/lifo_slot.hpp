#pragma once

#include "base/faults.hpp"
#include "queues/sole_taker.hpp"

#include <corewise/engine/detail/task_header.hpp>
#include <corewise/policies/load_board.hpp>

// The LIFO slot of a worker: what it was given last, or woke last, runs next, while that is still in its cache. Only
// the owner puts something in; others may take what is there, which they do by age only (idle.hpp), and when the engine has
// ended. Where nobody else takes (sole_taker.hpp) the owner does so by a load and a store. It lives in the worker's slot of the load
// board.
//
// | tag  | release site                | acquire site                | publishes   | weakened                      |
// |------|-----------------------------|-----------------------------|-------------|-------------------------------|
// | next | put: store, put: exchange   | take, put: exchange         | the task    | a thief runs a half-made task |

namespace corewise::detail {

class next_slot {
 public:
  next_slot(load_slot& slot, sole_taker& takers) noexcept : word_(slot.owner.lifo), takers_(takers) {}

  /// Owner only. Answers the task that had the place, or null. Cost: a plain store when the slot is empty.
  task_header* put(task_header* t) noexcept {
    if (word_.load(std::memory_order_relaxed) == nullptr) { // nobody else fills it
      interleave();
      word_.store(t, std::memory_order_release); // pairs: next
      return nullptr;
    }
    interleave();
    return static_cast<task_header*>(word_.exchange(t, std::memory_order_acq_rel)); // pairs: next
  }

  /// Owner only. The task, or null. Cost: an exchange, where others take too (sole_taker.hpp).
  task_header* take_own() noexcept {
    if (!takers_.enter()) return take();
    auto* const t = static_cast<task_header*>(word_.load(std::memory_order_relaxed)); // own
    word_.store(nullptr, std::memory_order_relaxed);
    takers_.leave();
    return t;
  }

  /// Any thread, if the worker is not alone. The same.
  task_header* take() noexcept {
    return static_cast<task_header*>(word_.exchange(nullptr, std::memory_order_acq_rel)); // pairs: next
  }

  /// Any thread.
  bool empty() const noexcept { return peek() == nullptr; }
  /// Any thread. What is there now; not to be followed.
  const task_header* peek() const noexcept {
    return static_cast<const task_header*>(word_.load(std::memory_order_relaxed));
  }

 private:
  std::atomic<void*>& word_;
  sole_taker& takers_;
};

} // namespace corewise::detail
