#pragma once

#include "queues/local_queue.hpp"
#include "queues/task_segment.hpp"

#include <corewise/engine/detail/lock.hpp>
#include <corewise/policies/detail/atomic.hpp>
#include <corewise/policies/function_ref.hpp>

#include <mutex>
#include <utility>

namespace corewise::detail {

/// The tasks for which a group's rings and inboxes have no room: an unbounded FIFO of two lists, each behind
/// a lock. Tasks enter it only when a ring overflows or an inbox is full, and workers take them in batches.
///
/// Invariant: when a push has ended, `size` is at least the number of tasks that wait, so 0 means none.
///
///     taken ◄── [ oldest │ .. │ .. ] ◄── all at once, when it has too few ── [ .. │ .. │ newest ] ◄── put
///
/// So a thread that puts a task in does not wait for a worker that walks along the tasks that it takes, most
/// of which are in another core's cache. A thread that puts in many tasks, one after the other, uses segments
/// (segment_writer.hpp). Each segment takes one place in the list. A thread reads without a lock whether
/// there are tasks, so looking costs two loads.
///
/// | tag     | release site | acquire site | publishes                  | weakened                    |
/// |---------|--------------|--------------|----------------------------|-----------------------------|
/// | counted | take: store  | size: load   | that at least so many were | a length below 0, read as 4 |
/// |         |              |              | put in                     | billion                     |
class injection_queue {
 public:
  /// Puts a chain in. Call from any thread.
  void push(const task_chain& chain) noexcept {
    if (chain.size == 0) return;
    const std::scoped_lock lock(back_.mutex);
    back_.waiting.append(chain);
    back_.passed.store(put() + chain.size, std::memory_order_relaxed);
  }

  /// Puts one task in. Call from any thread.
  void push(task_header* t) noexcept {
    task_chain one;
    one.push(t);
    push(one);
  }

  /// Puts a segment in, into which the calling thread may go on to write. Call from any thread.
  void push(task_segment* s) noexcept {
    const std::scoped_lock lock(back_.mutex);
    back_.waiting.push(s);
    (last_segment_ == nullptr ? first_segment_ : last_segment_->next_segment) = s;
    last_segment_ = s;
    back_.passed.store(put() + task_segment::capacity, std::memory_order_relaxed);
  }

  /// Ends a segment that this queue holds, or that its taker has left. Call from its writer, which has put in `tasks`.
  void end(task_segment* s, std::uint32_t tasks) noexcept {
    const std::scoped_lock lock(back_.mutex);
    if (s->end(tasks))
      back_.passed.store(put() - (task_segment::capacity - tasks), std::memory_order_relaxed);
    else
      task_segment::destroy(s);
  }

  /// Takes up to `most` of the oldest tasks. Returns fewer also where there is no memory for a copy, which
  /// then stays. Call from any thread.
  task_chain pop(std::uint32_t most) noexcept {
    if (size() == 0) return {};
    const std::scoped_lock lock(front_.mutex);
    return take(most);
  }

  /// Acts as `pop` for a worker that has other places to look: returns nothing while another thread takes.
  /// Calls `most` with the number of tasks that wait.
  task_chain try_pop(function_ref<std::uint32_t(std::uint32_t)> most) noexcept {
    if (size() == 0) return {};
    const std::unique_lock lock(front_.mutex, std::try_to_lock);
    return lock ? take(most(count_taking())) : task_chain{};
  }

  /// Returns an upper bound of how many tasks wait: the free room of a segment into which a thread still writes
  /// counts, too.
  /// Returns 0 if none waits, unless one is just coming.
  std::uint32_t size() const noexcept {
    const std::uint64_t taken = front_.passed.load(std::memory_order_acquire); // pairs: counted
    return static_cast<std::uint32_t>(put() - taken); // read last: a taken task was put in before
  }
  /// Returns how many tasks wait; where there are many, up to a segment more for each thread that has
  /// written. Cost: two locks and some cache lines.
  std::uint32_t count() const noexcept {
    const std::scoped_lock lock(front_.mutex);
    return count_taking();
  }
  /// The number of tasks that were ever put in, and of free cells of the segments into which a thread still writes,
  /// or wrote when they were left.
  std::uint64_t put() const noexcept { return back_.passed.load(std::memory_order_relaxed); }
  /// The number of these that were taken, or left.
  std::uint64_t taken() const noexcept { return front_.passed.load(std::memory_order_relaxed); }

 private:
  /// From this length on, a few tasks more or less make no difference, so `count_taking` does not walk along
  /// the segments.
  static constexpr std::uint32_t many = 16 * task_segment::capacity;

  /// Returns how many tasks wait. Call under the lock of the front.
  std::uint32_t count_taking() const noexcept {
    if (const std::uint32_t about = size(); about >= many) return about;
    const std::scoped_lock both(back_.mutex);
    std::uint32_t tasks = size();
    for (const task_segment* s = first_segment_; s != nullptr; s = s->next_segment) tasks -= s->free();
    return tasks;
  }

  /// Takes up to `most` tasks. Call under the lock of the front.
  task_chain take(std::uint32_t most) noexcept {
    if (front_.waiting.size < most) {
      const std::scoped_lock both(back_.mutex);
      front_.waiting.append(std::exchange(back_.waiting, {}));
    }
    task_chain out;
    std::uint32_t free = 0; // of segments that have left the queue
    while (out.size < most && front_.waiting.size > 0) {
      task_segment* s = task_segment::of(front_.waiting.first);
      if (s == nullptr) {
        out.push(front_.waiting.pop());
        continue;
      }
      task_header* t = s->pop();
      if (t == nullptr) break; // there is no memory for a copy
      out.push(t);
      if (!s->empty()) continue;
      remove_emptied(s, free);
    }
    front_.passed.store(front_.passed.load(std::memory_order_relaxed) + out.size + free,
                        std::memory_order_release); // pairs: counted
    return out;
  }

  /// Takes `s`, the first of the front, out of the queue, unless a task has come meanwhile. Adds its cells that count and
  /// had no task to `free`. Call under the lock of the front.
  void remove_emptied(task_segment* s, std::uint32_t& free) noexcept {
    const std::scoped_lock both(back_.mutex);
    task_header* const behind = s->next;
    task_segment* const next = s->next_segment;
    const std::uint32_t taken = s->taken();
    const task_segment::rest rest = s->try_abandon();
    if (rest == task_segment::rest::some) return;
    if (rest == task_segment::rest::none)
      task_segment::destroy(s); // its writer has ended it, and taken off what was free
    else
      free += task_segment::capacity - taken;
    front_.waiting.first = behind;
    if (behind == nullptr) front_.waiting.last = nullptr;
    --front_.waiting.size;
    first_segment_ = next;
    if (next == nullptr) last_segment_ = nullptr;
  }

  struct alignas(128) list {
    mutable detail::mutex mutex;
    task_chain waiting;
    atomic<std::uint64_t> passed{0}; // tasks; written under the mutex
  };

  list front_; // lock this one before the other
  list back_;
  task_segment* first_segment_ = nullptr; // under the lock of the back
  task_segment* last_segment_ = nullptr;
};

} // namespace corewise::detail
