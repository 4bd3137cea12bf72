#pragma once

#include "queues/local_queue.hpp"
#include "queues/task_segment.hpp"

#include <corewise/policies/function_ref.hpp>

#include <mutex>
#include <utility>

namespace corewise::detail {

/// What a group's workers have no room for: an unbounded FIFO of two lists, each behind a lock, entered only when a ring
/// overflows or an inbox is full, and left in batches.
///
///     taken ◄── [ oldest │ .. │ .. ] ◄── all at once, when that has too few ── [ .. │ .. │ newest ] ◄── put
///
/// So nobody who puts a task there waits for who walks along the tasks that it takes, most of which are in another core's
/// cache. A thread that puts in many, one after the other, does so by way of segments (segment_writer.hpp), each of which has
/// one place in the list. Whether there is anything is read without a lock, so that looking costs two loads.
///
/// | tag     | release site | acquire site | publishes                      | weakened                               |
/// |---------|--------------|--------------|--------------------------------|----------------------------------------|
/// | counted | take: store  | size: load   | that so many at least were put | a length below 0, read as four billion |
class injection_queue {
 public:
  /// Any thread.
  void push(const task_chain& chain) noexcept {
    if (chain.size == 0) return;
    interleave();
    const std::scoped_lock lock(back_.mutex);
    back_.waiting.append(chain);
    back_.passed.store(put() + chain.size, std::memory_order_relaxed);
  }

  /// Any thread.
  void push(task_header* t) noexcept {
    task_chain one;
    one.push(t);
    push(one);
  }

  /// Any thread, which may go on to write into it.
  void push(task_segment* s) noexcept {
    interleave();
    const std::scoped_lock lock(back_.mutex);
    back_.waiting.push(s);
    (last_segment_ == nullptr ? first_segment_ : last_segment_->next_segment) = s;
    last_segment_ = s;
    back_.passed.store(put() + task_segment::capacity, std::memory_order_relaxed);
  }

  /// Any thread. Up to `most` of the oldest tasks; fewer also where there is no memory for a copy, which stays.
  task_chain pop(std::uint32_t most) noexcept {
    if (size() == 0) return {};
    interleave();
    const std::scoped_lock lock(front_.mutex);
    return take(most);
  }

  /// The same for who has other places to look: nothing while somebody else takes. `most` is called with how many wait.
  task_chain try_pop(function_ref<std::uint32_t(std::uint32_t)> most) noexcept {
    if (size() == 0) return {};
    interleave();
    const std::unique_lock lock(front_.mutex, std::try_to_lock);
    return lock ? take(most(count_taking())) : task_chain{};
  }

  /// So many tasks wait at most: of a segment with a task in it what is free counts too. 0: none, unless one is just coming.
  std::uint32_t size() const noexcept {
    const std::uint64_t taken = front_.passed.load(std::memory_order_acquire); // pairs: counted
    interleave();
    return static_cast<std::uint32_t>(put() - taken); // read last: what is taken was put before
  }
  /// How many tasks wait; where there are many, up to a segment more for each thread that has written. Two locks, and some lines.
  std::uint32_t count() const noexcept {
    const std::scoped_lock lock(front_.mutex);
    return count_taking();
  }
  /// Tasks, and room for some, that were ever put in.
  std::uint64_t put() const noexcept { return back_.passed.load(std::memory_order_relaxed); }

 private:
  /// Where so many wait, a few more or less make no difference: the segments are not walked along.
  static constexpr std::uint32_t many = 16 * task_segment::capacity;

  /// Under the lock of the front.
  std::uint32_t count_taking() const noexcept {
    if (const std::uint32_t about = size(); about >= many) return about;
    const std::scoped_lock both(back_.mutex);
    std::uint32_t tasks = size();
    for (const task_segment* s = first_segment_; s != nullptr; s = s->next_segment) tasks -= s->free();
    return tasks;
  }

  /// Under the lock of the front.
  task_chain take(std::uint32_t most) noexcept {
    if (front_.waiting.size < most) {
      interleave();
      const std::scoped_lock both(back_.mutex);
      front_.waiting.append(std::exchange(back_.waiting, {}));
    }
    interleave();
    task_chain out;
    std::uint32_t free = 0; // of segments that are gone
    while (out.size < most && front_.waiting.size > 0) {
      task_segment* s = task_segment::of(front_.waiting.first);
      if (s == nullptr) {
        out.push(front_.waiting.pop());
        continue;
      }
      task_header* t = s->pop();
      if (t == nullptr) break; // there is no memory
      out.push(t);
      if (!s->empty()) continue;
      const std::uint32_t taken = s->taken();
      if (leave(s)) free += task_segment::capacity - taken;
    }
    front_.passed.store(front_.passed.load(std::memory_order_relaxed) + out.size + free,
                        std::memory_order_release); // pairs: counted
    return out;
  }

  /// Under the lock of the front, whose first is `s`. False: a task has come.
  bool leave(task_segment* s) noexcept {
    interleave();
    const std::scoped_lock both(back_.mutex);
    task_header* const behind = s->next;
    task_segment* const next = s->next_segment;
    const task_segment::rest rest = s->leave();
    if (rest == task_segment::rest::some) return false;
    if (rest == task_segment::rest::none) task_segment::destroy(s);
    front_.waiting.first = behind;
    if (behind == nullptr) front_.waiting.last = nullptr;
    --front_.waiting.size;
    first_segment_ = next;
    if (next == nullptr) last_segment_ = nullptr;
    return true;
  }

  struct alignas(128) list {
    mutable std::mutex mutex;
    task_chain waiting;
    std::atomic<std::uint64_t> passed{0}; // tasks; written under the mutex
  };

  list front_; // its lock before that of the other
  list back_;
  task_segment* first_segment_ = nullptr; // under the lock of the back
  task_segment* last_segment_ = nullptr;
};

} // namespace corewise::detail
