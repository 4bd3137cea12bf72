#pragma once

#include "base/task_clock.hpp"
#include "queues/inbox.hpp"
#include "queues/unbounded_inbox.hpp"

#include <corewise/policies/detail/atomic.hpp>

namespace corewise::detail {

/// The tasks that other threads send to a worker: a bounded inbox, from which any thread may take, or an
/// unbounded one, from which only the worker itself may take. `queues.inbox` says which. Both count with the
/// same positions of the worker's board entry.
class ingress {
 public:
  /// No cells: the inbox is unbounded. `cells` and `entry` must outlive this.
  ingress(board_entry& entry, std::span<inbox::cell> cells) noexcept
      : entry_(entry),
        bounded_(entry, cells),
        unbounded_(entry),
        is_bounded_(!cells.empty()) {}

  bool bounded() const noexcept { return is_bounded_; }

  /// Puts `t` in. Returns false if the inbox is full, which an unbounded one never is. Call from any thread.
  [[nodiscard]] bool push(task_header* t) noexcept {
    if (is_bounded_) return bounded_.push(t, timed() ? arrival_now() : 0);
    unbounded_.push(t);
    return true;
  }

  /// Returns whether a bounded inbox notes when each task comes, which costs a look at the clock. Call from
  /// any thread.
  bool timed() const noexcept { return timed_.load(std::memory_order_relaxed); }
  /// Sets whether the inbox notes times. The worker calls it now and then.
  void time(bool wanted) noexcept {
    if (wanted != timed()) timed_.store(wanted, std::memory_order_relaxed);
  }
  /// Returns when the task came that `pop` would find now, or nothing if there is none or the inbox is
  /// unbounded. Call from any thread.
  std::optional<arrival> oldest() const noexcept { return is_bounded_ ? bounded_.oldest() : std::nullopt; }

  /// Takes the oldest task that can be reached, or returns null. Call from any thread if the inbox is
  /// bounded, else from the worker only.
  task_header* pop() noexcept { return is_bounded_ ? bounded_.pop() : unbounded_.pop(); }
  /// Returns whether `pop` would find a task now. Call from the threads that may call `pop`.
  bool ready() const noexcept { return is_bounded_ ? bounded_.ready() : unbounded_.ready(); }

  /// Returns how many tasks wait. Call from any thread. Exact at rest.
  std::uint32_t size() const noexcept {
    const std::uint64_t out = entry_.owner.inbox_out.load(std::memory_order_relaxed);
    const std::uint64_t in = put();
    return in > out ? static_cast<std::uint32_t>(in - out) : 0;
  }
  /// The numbers of tasks that were ever put in, and that were ever taken out, the latter modulo 2^32.
  std::uint64_t put() const noexcept { return entry_.producers.inbox_in.load(std::memory_order_relaxed); }
  std::uint32_t taken() const noexcept {
    return static_cast<std::uint32_t>(entry_.owner.inbox_out.load(std::memory_order_relaxed));
  }

 private:
  static arrival arrival_now() noexcept {
    const auto now = static_cast<arrival>(monotonic::now().time_since_epoch().count() >> 10);
    return now == 0 ? 1 : now;
  }

  board_entry& entry_;
  inbox bounded_;
  unbounded_inbox unbounded_;
  bool is_bounded_;
  atomic<bool> timed_{false}; // relaxed: a hint
};

} // namespace corewise::detail
