#pragma once

#include "idle/driver_watch.hpp"
#include "idle/lost_wakes.hpp"
#include "idle/slot_watch.hpp"
#include "idle/standstill_watch.hpp"
#include "idle/wake_ups.hpp"

namespace corewise::detail {

/// Finds what no worker sees: tasks that have aged in a LIFO slot (slot_watch.hpp), domains that stand still
/// (standstill_watch.hpp), drivers in which no thread looks (driver_watch.hpp), and work whose wake-up got lost
/// (lost_wakes.hpp). The supervisor has a lookout.
/// The sentinel has another, and uses it while there is no supervisor.
///
/// While any slot is full and a worker sleeps, the lookout looks at the slots after 50 us and less and less
/// often, down to every 1 ms. When all slots have been empty for 100 ms, it looks every 20 ms. While all
/// workers sleep it does not look. It sends a task that has aged to the inbox of the slot's worker, as if the
/// task had just come.
///
/// Rejected: a worker that fills its slot wakes the thread that looks. The worker would make a fence once
/// between two sleeps, and a word and a proof of its own would say which thread to wake (ADR 0041).
class lookout {
 public:
  /// All arguments outlive it.
  lookout(const worker_layout& layout, wake_ups& wakes)
      : layout_(layout),
        wakes_(wakes),
        slots_(wakes.work().queues()),
        standstills_(wakes.domains()),
        drivers_(wakes.groups()) {}

  /// The longest time between two looks at the slots while any worker is awake.
  static constexpr std::chrono::nanoseconds slot_look_rare = std::chrono::milliseconds{20};

  /// Returns whether it looks for tasks that age in slots. Call from any thread.
  bool slots_age() const noexcept {
    // No other worker could help the only one.
    return layout_.size() > 1 && wakes_.settings().slots_age();
  }
  /// Returns whether it looks for domains that stand still. Call from any thread.
  bool others_help() const noexcept { return wakes_.domains() > 1 && wakes_.settings().stealing(); }
  /// Returns whether it looks for drivers in which no thread looks. Call from any thread.
  bool watches_drivers() const noexcept { return wakes_.sleepers().drivers().any(); }
  /// Returns whether it looks for lost wake-ups. Call from any thread.
  bool rescues() const noexcept {
    return wakes_.settings().park_timeout() == idle_settings::timeout_kind::adaptive;
  }
  /// Does what is due. Returns how long the thread may sleep then; nothing: until a worker wakes up. Call
  /// from one thread at a time.
  std::optional<std::chrono::nanoseconds> look(monotonic::time_point now) noexcept;

 private:
  std::chrono::nanoseconds look_at_domains(monotonic::time_point now) noexcept;
  std::chrono::nanoseconds look_at_slots(monotonic::time_point now) noexcept;
  bool any_slot_full(monotonic::time_point now) noexcept;
  std::chrono::nanoseconds look_at_drivers(monotonic::time_point now) noexcept;
  void look_for_lost(monotonic::time_point now) noexcept;
  std::optional<worker_id> sleeper_with_work() const noexcept;

  const worker_layout& layout_;
  wake_ups& wakes_;
  slot_watch slots_;
  standstill_watch standstills_;
  driver_watch drivers_;
  lost_wake_watch lost_;
  monotonic::time_point next_slot_look_;
  monotonic::time_point slot_full_at_;                 // when it last saw a slot that was full
  std::chrono::nanoseconds slot_rest_{slot_look_rare}; // between the last look at the slots and the next
};

} // namespace corewise::detail
