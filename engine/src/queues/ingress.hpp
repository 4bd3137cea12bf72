#pragma once

#include "base/task_clock.hpp"
#include "queues/inbox.hpp"
#include "queues/unbounded_inbox.hpp"

namespace corewise::detail {

/// What others send to a worker: a bounded inbox, from which anybody may take, or an unbounded one, from which only the
/// worker itself may, as `queues.inbox` says. Both count with the same positions of the worker's board slot.
class ingress {
 public:
  /// No cells: unbounded. `cells` and `slot` are the owner's to keep.
  ingress(load_slot& slot, std::span<inbox::cell> cells) noexcept
      : slot_(slot),
        bounded_(slot, cells),
        unbounded_(slot),
        is_bounded_(!cells.empty()) {}

  bool bounded() const noexcept { return is_bounded_; }

  /// Any thread. False: full, which an unbounded one never is.
  [[nodiscard]] bool push(task_header* t) noexcept {
    if (is_bounded_) return bounded_.push(t, timed() ? arrival_now() : 0);
    unbounded_.push(t);
    return true;
  }

  /// Any thread: whether what comes into a bounded one is told the time, which costs a look at the clock.
  bool timed() const noexcept { return timed_.load(std::memory_order_relaxed); }
  /// The worker, now and then.
  void time(bool wanted) noexcept {
    if (wanted != timed()) timed_.store(wanted, std::memory_order_relaxed);
  }
  /// Any thread. When the task came that `pop` would find now; nothing if there is none, or it is unbounded.
  std::optional<arrival> oldest() const noexcept { return is_bounded_ ? bounded_.oldest() : std::nullopt; }

  /// Any thread if it is bounded, else the worker only. The oldest task that can be reached, or null.
  task_header* pop() noexcept { return is_bounded_ ? bounded_.pop() : unbounded_.pop(); }
  /// As `pop`: whether it would find a task now.
  bool ready() const noexcept { return is_bounded_ ? bounded_.ready() : unbounded_.ready(); }

  /// How many tasks wait. Any thread; exact at rest.
  std::uint32_t size() const noexcept {
    const std::uint64_t out = slot_.owner.inbox_out.load(std::memory_order_relaxed);
    const std::uint64_t in = put();
    return in > out ? static_cast<std::uint32_t>(in - out) : 0;
  }
  /// Tasks that were ever put in and taken out, the latter modulo 2^32.
  std::uint64_t put() const noexcept { return slot_.producers.inbox_in.load(std::memory_order_relaxed); }
  std::uint32_t taken() const noexcept {
    return static_cast<std::uint32_t>(slot_.owner.inbox_out.load(std::memory_order_relaxed));
  }

 private:
  static arrival arrival_now() noexcept {
    const auto now = static_cast<arrival>(monotonic::now().time_since_epoch().count() >> 10);
    return now == 0 ? 1 : now;
  }

  load_slot& slot_;
  inbox bounded_;
  unbounded_inbox unbounded_;
  bool is_bounded_;
  std::atomic<bool> timed_{false}; // relaxed: a hint
};

} // namespace corewise::detail
