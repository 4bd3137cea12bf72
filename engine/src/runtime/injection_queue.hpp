#pragma once

#include "local_queue.hpp"

#include <mutex>
#include <utility>

namespace corewise::detail {

/// What a group's workers have no room for: an unbounded FIFO of two lists, each behind a lock, entered only when a ring
/// overflows or an inbox is full, and left in batches.
///
///     taken ◄── [ oldest │ .. │ .. ] ◄── all at once, when that has too few ── [ .. │ .. │ newest ] ◄── put
///
/// So nobody who puts a task there waits for who walks along the tasks that it takes, most of which are in another core's
/// cache. The length is read without a lock, so that looking costs two loads.
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

  /// Any thread. Up to `most` of the oldest tasks.
  task_chain pop(std::uint32_t most) noexcept {
    if (size() == 0) return {};
    interleave();
    const std::scoped_lock lock(front_.mutex);
    return take(most);
  }

  /// The same, but nothing while somebody else takes: for who has other places to look.
  task_chain try_pop(std::uint32_t most) noexcept {
    if (size() == 0) return {};
    interleave();
    const std::unique_lock lock(front_.mutex, std::try_to_lock);
    return lock ? take(most) : task_chain{};
  }

  /// How many tasks wait.
  std::uint32_t size() const noexcept {
    const std::uint64_t taken = front_.passed.load(std::memory_order_acquire); // pairs: counted
    interleave();
    return static_cast<std::uint32_t>(put() - taken); // read last: what is taken was put before
  }
  /// Tasks that were ever put in.
  std::uint64_t put() const noexcept { return back_.passed.load(std::memory_order_relaxed); }

 private:
  /// Under the lock of the front.
  task_chain take(std::uint32_t most) noexcept {
    if (front_.waiting.size < most) {
      interleave();
      const std::scoped_lock both(back_.mutex);
      front_.waiting.append(std::exchange(back_.waiting, {}));
    }
    interleave();
    task_chain out;
    while (out.size < most && front_.waiting.size > 0) out.push(front_.waiting.pop());
    front_.passed.store(front_.passed.load(std::memory_order_relaxed) + out.size,
                        std::memory_order_release); // pairs: counted
    return out;
  }

  struct alignas(128) list {
    std::mutex mutex;
    task_chain waiting;
    std::atomic<std::uint64_t> passed{0}; // tasks; written under the mutex
  };

  list front_; // its lock before that of the other
  list back_;
};

} // namespace corewise::detail
