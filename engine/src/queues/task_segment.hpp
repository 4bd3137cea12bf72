#pragma once

#include "queues/carried_task.hpp"

#include <corewise/policies/detail/atomic.hpp>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace corewise::detail {

/// A row of tasks that one thread puts into an injection queue, one after the other, without a lock and
/// without taking a cache line from other writers. The thread that holds the lock of the queue's front takes
/// the tasks.
///
/// Invariant: `state_` holds how many tasks were written, and whether the writer has ended or the taker has
/// left; each of the two changes it by a CAS, so the later one knows that it is the last, and destroys the
/// segment.
///
///   [ taken │ taken │ next │ .. │ newest │ free │ .. ]   open, ended (by the writer), or left (by the taker)
///
/// The writer ends the segment when it is full, or when the writer goes to another queue; then the taker
/// gives the memory back. A taker that has emptied the segment abandons it, so that no segment of the queue is
/// without a task; then the writer gives the memory back, when it comes with its next task, which goes into
/// another segment.
///
/// | tag  | release site    | acquire site | publishes                   | weakened                         |
/// |------|-----------------|--------------|-----------------------------|----------------------------------|
/// | put  | write, end: CAS | pop,         | the tasks up to there; with | a taker reads an older task; the |
/// |      | of the state    | try_abandon: | `ended`, that no more come  | writer writes into memory that   |
/// |      |                 | load         |                             | has another owner                |
/// | left | try_abandon:    | write, end:  | that the last task was read | a task is still read when its    |
/// |      | CAS of the state| CAS fails    |                             | memory has another owner         |
///
/// tests/model/segment.pml proves it.
class task_segment : public task_header {
 public:
  static constexpr std::size_t size_class = block_class(1024);
  static constexpr std::uint32_t capacity =
      (block_sizes[size_class] - 2 * block_alignment) / sizeof(carried_task);

  /// Makes a segment that holds `first`, and into which the calling thread may write. Returns null if there
  /// is no memory.
  static task_segment* make(task_header* first) noexcept {
    void* memory = try_acquire_block(size_class);
    return memory == nullptr ? nullptr : ::new (memory) task_segment(first);
  }
  /// Returns `t` as a segment if it is one, else null.
  static task_segment* of(task_header* t) noexcept {
    return t->act == &never ? static_cast<task_segment*>(t) : nullptr;
  }
  static void destroy(task_segment* s) noexcept { release_block(s, size_class); }

  /// Writes a task, and gives the block of a copied one back. Call from the writer, which has put in `at`
  /// tasks. Returns false if the taker has left the segment; then the writer must destroy it.
  bool write(task_header* t, std::uint32_t at) noexcept {
    const bool copied = carried_task::copies(t);
    cells_[at].put(t);
    std::uint32_t before = at;
    const std::uint32_t after = at + 1 == capacity ? capacity | ended : at + 1;
    if (!state_.compare_exchange_strong(before, after, std::memory_order_release, // pairs: put
                                        std::memory_order_acquire))               // pairs: left
      return false;
    if (copied) release_block(t, 0);
    return true;
  }

  /// Ends the segment. Call from the writer, which has put in `at` tasks and puts in no more. Returns false
  /// as `write` does.
  bool end(std::uint32_t at) noexcept {
    return state_.compare_exchange_strong(at, at | ended, std::memory_order_release, // pairs: put
                                          std::memory_order_acquire);                // pairs: left
  }

  // Call the following under the lock of the queue's front.

  /// Returns whether no task waits now.
  bool empty() const noexcept {
    return taken_ == known_ && (state_.load(std::memory_order_relaxed) & count) == taken_;
  }
  /// The number of tasks that were taken.
  std::uint32_t taken() const noexcept { return taken_; }
  /// The number of tasks for which there is still room: none where its writer has ended it.
  std::uint32_t free() const noexcept {
    const std::uint32_t state = state_.load(std::memory_order_relaxed);
    return (state & ended) != 0 ? 0 : capacity - (state & count);
  }
  /// Takes the oldest task. Returns null if there is none, or no memory for a copy, which then stays.
  task_header* pop() noexcept {
    if (taken_ == known_) known_ = state_.load(std::memory_order_acquire) & count; // pairs: put
    if (taken_ == known_) return nullptr;
    carried_task& from = cells_[taken_];
    task_header* t = from.address();
    if (from.copied()) {
      void* block = try_acquire_block(0);
      if (block == nullptr) return nullptr;
      t = from.unpack(block);
    }
    ++taken_;
    return t;
  }
  /// The answer of `try_abandon`.
  enum class rest : std::uint8_t {
    some, ///< tasks wait
    none, ///< no task will come; the caller must destroy the segment
    left, ///< no task will come; the writer will destroy the segment
  };
  rest try_abandon() noexcept {
    std::uint32_t state = state_.load(std::memory_order_acquire); // pairs: put
    do {
      if ((state & count) != taken_) return rest::some;
      if ((state & ended) != 0) return rest::none;
    } while (!state_.compare_exchange_weak(state, state | abandoned, std::memory_order_release, // pairs: left
                                           std::memory_order_acquire)); // pairs: put
    return rest::left;
  }

  task_segment* next_segment = nullptr; ///< free for the queue to use

 private:
  static constexpr std::uint32_t ended = 1U << 30;
  static constexpr std::uint32_t abandoned = 1U << 31;
  static constexpr std::uint32_t count = ended - 1;

  explicit task_segment(task_header* first) noexcept {
    act = &never;
    cells_[0].put(first);
    if (carried_task::copies(first)) release_block(first, 0);
  }
  static bool never(task_header* /*t*/, task_action /*action*/) { std::abort(); }

  std::uint32_t taken_ = 0; // of the tasks that were put in
  // At least so many tasks were put in. Until these are taken, no taker takes the line of the state from the
  // writer.
  std::uint32_t known_ = 1;
  alignas(block_alignment) atomic<std::uint32_t> state_{1};
  alignas(block_alignment) carried_task cells_[capacity];
};

static_assert(sizeof(task_segment) <= block_sizes[task_segment::size_class] &&
              alignof(task_segment) == block_alignment);

} // namespace corewise::detail
