#pragma once

#include "base/faults.hpp"
#include "queues/carried_task.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace corewise::detail {

/// A row of tasks that one thread puts into an injection queue, one after the other, without a lock and without taking a line
/// from others who do the same. Whoever holds the lock of the queue's front takes them.
///
///     [ taken │ taken │ next │ .. │ newest │ free │ .. ]        open, ended (nothing comes any more) or left (nobody takes any more)
///
/// The writer ends it when it is full, or when it goes elsewhere: then the taker gives its memory back. The taker that has
/// emptied it leaves it, so that nothing in the queue is without a task: then the writer does, when it comes with its next
/// task, which goes into another.
///
/// | tag   | release site                 | acquire site          | publishes                       | weakened                       |
/// |-------|------------------------------|-----------------------|---------------------------------|--------------------------------|
/// | put   | write, end: CAS of the state | pop, leave: load      | the tasks up to there; with     | a taker reads an older task;   |
/// |       |                              |                       | `ended`, that no more come      | the writer writes into memory  |
/// |       |                              |                       |                                 | that is somebody else's        |
/// | left  | leave: CAS of the state      | write, end: CAS fails | that the last task was read     | it is still read when it is    |
/// |       |                              |                       |                                 | somebody else's                |
///
/// tests/model/segment.pml proves it.
class task_segment : public task_header {
 public:
  static constexpr std::size_t size_class = block_class(1024);
  static constexpr std::uint32_t capacity =
      (block_sizes[size_class] - 2 * block_alignment) / sizeof(carried_task);

  /// Null where there is no memory. Holds `first`, and is the calling thread's to write.
  static task_segment* make(task_header* first) noexcept {
    void* memory = try_acquire_block(size_class);
    return memory == nullptr ? nullptr : ::new (memory) task_segment(first);
  }
  /// Whether what a queue holds is one.
  static task_segment* of(task_header* t) noexcept {
    return t->act == &never ? static_cast<task_segment*>(t) : nullptr;
  }
  static void destroy(task_segment* s) noexcept { release_block(s, size_class); }

  /// The writer, which has put in `at` tasks. False: it was left, and is the writer's to destroy. The block of a copied task is
  /// given back.
  bool write(task_header* t, std::uint32_t at) noexcept {
    const bool copied = carried_task::copies(t);
    cells_[at].put(t);
    interleave();
    std::uint32_t before = at;
    const std::uint32_t after = at + 1 == capacity ? capacity | ended : at + 1;
    if (!state_.compare_exchange_strong(before, after, std::memory_order_release, // pairs: put
                                        std::memory_order_acquire))               // pairs: left
      return false;
    if (copied) release_block(t, 0);
    return true;
  }

  /// The writer, which has put in `at` tasks and puts in no more. False: as with `write`.
  bool end(std::uint32_t at) noexcept {
    return state_.compare_exchange_strong(at, at | ended, std::memory_order_release, // pairs: put
                                          std::memory_order_acquire);                // pairs: left
  }

  // Those who take hold the lock of the queue's front.

  /// Whether none waits now.
  bool empty() const noexcept {
    return taken_ == known_ && (state_.load(std::memory_order_relaxed) & count) == taken_;
  }
  /// How many tasks were taken.
  std::uint32_t taken() const noexcept { return taken_; }
  /// How many more there is room for.
  std::uint32_t free() const noexcept { return capacity - (state_.load(std::memory_order_relaxed) & count); }
  /// The oldest task. Null: there is none, or no memory for a copy; then it stays.
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
  /// What `leave` finds.
  enum class rest : std::uint8_t {
    some, ///< tasks
    none, ///< no task will come; it is the caller's to destroy
    left, ///< no task will come; it is the writer's to destroy
  };
  rest leave() noexcept {
    std::uint32_t state = state_.load(std::memory_order_acquire); // pairs: put
    do {
      if ((state & count) != taken_) return rest::some;
      if ((state & ended) != 0) return rest::none;
      interleave();
    } while (!state_.compare_exchange_weak(state, state | abandoned, std::memory_order_release, // pairs: left
                                           std::memory_order_acquire)); // pairs: put
    return rest::left;
  }

  task_segment* next_segment = nullptr; ///< free for the queue

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

  std::uint32_t taken_ = 0; // of those that were put in
  // So many were, at least: until they are taken nobody takes the line of the state from the writer.
  std::uint32_t known_ = 1;
  alignas(block_alignment) std::atomic<std::uint32_t> state_{1};
  alignas(block_alignment) carried_task cells_[capacity];
};

static_assert(sizeof(task_segment) <= block_sizes[task_segment::size_class] &&
              alignof(task_segment) == block_alignment);

} // namespace corewise::detail
