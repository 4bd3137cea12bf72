#pragma once

#include "base/fence.hpp"

#include <corewise/engine/detail/task_header.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

// The deque for forked tasks. Its owner pushes at the bottom, one task or a row of them, and pops there, the
// newest first, so that it works depth first as a call would. Thieves take at the top, the oldest and so the
// largest task, one at a time.
//
// Invariant: a task at a position from top up to, but not including, bottom waits, and exactly one thread
// takes it.
//
//      top                          bottom
//       ▼                             ▼
//     [ oldest │ ... │ ... │ newest ]            load = bottom − top
//       thieves ──►              ◄── owner
//
// The deque grows when it is full. A thief may still read the array that was replaced, so the deque keeps all
// its arrays until it dies. Each array is twice as large as the one before, so the older ones together take
// no more room than the one in use.
//
// The owner and a thief meet only for the last task. The owner first makes bottom smaller and then looks at
// top. A thief reads top first and then bottom. Each has a fence in between, so one of them sees the other,
// and a CAS on top decides.
//
// | tag    | release site         | acquire site       | publishes           | weakened                   |
// |--------|----------------------|--------------------|---------------------|----------------------------|
// | forked | each store of bottom | steal: bottom load | the tasks below it  | a thief takes a stale cell |
// | grown  | reserve: store of    | steal: its load    | the cells that were | a thief reads no task      |
// |        | `array_`             |                    | copied              |                            |
// | stolen | steal: top CAS       | push: top load     | that the cell was   | the owner overwrites a     |
// |        |                      |                    | read                | task                       |
// | last   | pop: fence           | steal: fence       | nothing; order only | the last task runs twice   |
//
// Each store of bottom is a release, also those of `pop`, which push nothing. A thief that reads such a
// store must see the tasks below as well, and since C++20 a relaxed store does not continue the release of
// the store before. A thief reads the cell before its CAS, and trusts it only when the CAS succeeds:
// positions never go back, so top is then where it was.
//
// Source: David Chase and Yossi Lev, Dynamic Circular Work-Stealing Deque, SPAA 2005,
// doi:10.1145/1073970.1073974; orders after Nhat Minh Lê, Antoniu Pop, Albert Cohen and Francesco Zappa
// Nardelli, Correct and Efficient Work-Stealing for Weak Memory Models, PPoPP 2013,
// doi:10.1145/2442516.2442524.

namespace corewise::detail {

class fork_deque {
 public:
  /// The positions must outlive the deque. `bottom` belongs on the line that the owner writes, `top` on the
  /// thieves' line, as in an entry of the load board. `capacity`, a power of two, is the capacity of the
  /// first array. The first push makes that array, so that it lies where its owner runs.
  fork_deque(atomic<std::uint64_t>& bottom, atomic<std::uint64_t>& top, std::uint64_t capacity) noexcept
      : bottom_(bottom),
        top_(top),
        first_capacity_(capacity) {}
  fork_deque(const fork_deque&) = delete;
  fork_deque& operator=(const fork_deque&) = delete;

  /// Pushes `t`. Returns false if the deque is full and there is no memory to grow. Owner only. Cost: two
  /// stores, no locked instruction.
  [[nodiscard]] bool push(task_header* t) noexcept {
    while (!push_row(t, 1, [](task_header* only) { return only; }))
      if (!reserve(1)) return false;
    return true;
  }
  /// Pushes `count` tasks, one or more, `newest` last; `before` returns the one that comes before another.
  /// Returns false if there is no room for all. Owner only. Cost: a store for each, and one more.
  template <class Task, class F>
  [[nodiscard]] bool push_row(Task* newest, std::uint32_t count, F before) noexcept {
    const std::uint64_t bottom = bottom_.load(std::memory_order_relaxed); // own
    const std::uint64_t top = top_.load(std::memory_order_acquire);       // pairs: stolen
    const cells own = own_;
    if (bottom - top + count > own.capacity()) [[unlikely]]
      return false;
    Task* t = newest;
    for (std::uint64_t at = bottom + count - 1; at != bottom; --at) {
      own.put(at, t);
      t = before(t);
    }
    own.put(bottom, t);
    bottom_.store(bottom + count, std::memory_order_release); // pairs: forked
    return true;
  }
  /// Makes room for `count` more tasks. Returns false if there is no memory. Owner only.
  [[nodiscard, gnu::noinline]] bool reserve(std::uint32_t count) noexcept {
    const std::uint64_t bottom = bottom_.load(std::memory_order_relaxed); // own
    const std::uint64_t top = top_.load(std::memory_order_relaxed);       // no cell is overwritten
    const std::uint64_t needed = std::bit_ceil(bottom - top + count);
    if (needed <= own_.capacity()) return true;
    try {
      auto larger = std::make_unique<array>(std::max({own_.capacity() * 2, first_capacity_, needed}));
      for (std::uint64_t at = top; at != bottom; ++at) larger->all.put(at, own_.get(at));
      arrays_.push_back(std::move(larger));
    } catch (const std::bad_alloc&) {
      return false;
    }
    own_ = arrays_.back()->all;
    array_.store(&arrays_.back()->all, std::memory_order_release); // pairs: grown
    return true;
  }

  /// Takes the newest task, or returns null. Owner only. Cost: a fence; a locked instruction for the last
  /// task.
  task_header* pop() noexcept {
    const std::uint64_t bottom = bottom_.load(std::memory_order_relaxed); // own
    // No other thread raises bottom, so a deque that looks empty is empty.
    if (bottom == top_.load(std::memory_order_relaxed)) return nullptr;
    task_header* const newest = own_.get(bottom - 1);
    return take_newest(bottom) ? newest : nullptr;
  }

  /// Takes the newest task if it is `t`, and returns whether it did. Owner only. Cost: a few loads if it is
  /// not `t`, else that of `pop`.
  bool take_back(const task_header* t) noexcept {
    if (own_.capacity() == 0) return false;
    const std::uint64_t bottom = bottom_.load(std::memory_order_relaxed); // own
    // In a deque that thieves have emptied, or its owner, the cell still holds an older task.
    return own_.get(bottom - 1) == t && take_newest(bottom);
  }

  /// The position that the next push takes. Owner only.
  std::uint64_t next_position() const noexcept { return bottom_.load(std::memory_order_relaxed); }
  /// Acts as `pop`, but takes only tasks that were pushed since `first` was the next position, as long as
  /// nothing below `first` was popped. Owner only.
  task_header* pop_since(std::uint64_t first) noexcept {
    const std::uint64_t bottom = bottom_.load(std::memory_order_relaxed); // own
    if (bottom <= first) return nullptr;
    task_header* const newest = own_.get(bottom - 1);
    return take_newest(bottom) ? newest : nullptr; // false if thieves have emptied the deque
  }

  enum class outcome : std::uint8_t { empty, lost, task };
  struct loot {
    outcome what;
    task_header* task; ///< null unless `what` is `task`
  };

  /// Takes the oldest task. Returns `lost` if another thread took it meanwhile; there may be more. Call from
  /// any thread.
  [[nodiscard]] loot steal() noexcept { return steal_since(0); }
  /// Acts as `steal` if the oldest task lies at position `first` or above; otherwise returns `empty`.
  [[nodiscard]] loot steal_since(std::uint64_t first) noexcept {
    std::uint64_t top = top_.load(std::memory_order_acquire); // pairs: stolen
    if (top < first) return {outcome::empty, nullptr};
    full_fence();                                                         // pairs: last
    const std::uint64_t bottom = bottom_.load(std::memory_order_acquire); // pairs: forked
    if (static_cast<std::int64_t>(bottom - top) <= 0) return {outcome::empty, nullptr};
    task_header* t = array_.load(std::memory_order_acquire)->get(top);         // pairs: grown
    if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, // pairs: stolen
                                      std::memory_order_relaxed))
      return {outcome::lost, nullptr};
    return {outcome::task, t};
  }

  /// Returns how many tasks wait. Call from any thread. Exact at rest.
  std::uint64_t size() const noexcept {
    // Read top first: it only grows.
    const std::uint64_t top = top_.load(std::memory_order_acquire); // pairs: stolen
    const auto waiting = static_cast<std::int64_t>(bottom_.load(std::memory_order_relaxed) - top);
    return waiting > 0 ? static_cast<std::uint64_t>(waiting) : 0;
  }

  /// Returns whether no task waits. Call from any thread. Exact at rest; for the owner, `true` is always
  /// exact.
  bool empty() const noexcept {
    return bottom_.load(std::memory_order_relaxed) == top_.load(std::memory_order_relaxed);
  }

  /// The number of cells. Owner only.
  std::uint64_t capacity() const noexcept { return own_.capacity(); }

 private:
  friend struct debugger_layouts;

  /// The cells of an array, by position modulo the capacity.
  class cells {
   public:
    cells() noexcept = default; // of capacity 0
    cells(atomic<task_header*>* first, std::uint64_t capacity) noexcept
        : mask_(capacity - 1),
          first_(first) {}

    std::uint64_t capacity() const noexcept { return mask_ + 1; }
    task_header* get(std::uint64_t at) const noexcept {
      return first_[at & mask_].load(std::memory_order_relaxed); // ordered by bottom and top
    }
    void put(std::uint64_t at, task_header* t) const noexcept {
      first_[at & mask_].store(t, std::memory_order_relaxed);
    }

   private:
    friend struct debugger_layouts;

    std::uint64_t mask_ = ~std::uint64_t{0};
    atomic<task_header*>* first_ = nullptr;
  };
  struct array {
    explicit array(std::uint64_t capacity)
        : memory(std::make_unique<atomic<task_header*>[]>(capacity)),
          all(memory.get(), capacity) {}

    std::unique_ptr<atomic<task_header*>[]> memory;
    cells all;
  };

  /// Takes the newest task, unless the deque is empty. Returns whether it did.
  bool take_newest(std::uint64_t bottom) noexcept {
    bottom_.store(bottom - 1, std::memory_order_release); // pairs: forked
    full_fence();                                         // pairs: last
    std::uint64_t top = top_.load(std::memory_order_relaxed);
    const auto below = static_cast<std::int64_t>(bottom - 1 - top);
    if (below > 0) return true; // thieves are far from it
    const bool taken = below == 0 && top_.compare_exchange_strong(top, bottom, std::memory_order_seq_cst,
                                                                  std::memory_order_relaxed); // pairs: last
    bottom_.store(bottom, std::memory_order_release);                                         // pairs: forked
    return taken;
  }

  atomic<std::uint64_t>& bottom_;
  atomic<std::uint64_t>& top_;
  std::uint64_t first_capacity_;
  cells own_;                                  // the owner's view of the array in use
  atomic<const cells*> array_{nullptr};        // the same for thieves; they come after the first push
  std::vector<std::unique_ptr<array>> arrays_; // the owner's; the last one is in use
};

} // namespace corewise::detail
