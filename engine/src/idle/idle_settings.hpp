#pragma once

#include <corewise/engine/profile.hpp>
#include <corewise/policies/detail/atomic.hpp>
#include <corewise/topology/ids.hpp>

#include <array>
#include <chrono>
#include <optional>

namespace corewise::detail {

/// The settings of the profile about sleeping and stealing. Invariant: a thread that reads one after a
/// fence of the parking protocol (wake_ups.hpp) does not read an older value than the fence.
///
/// So they are not in the swapped `rules`, which each worker takes up at a time of its own: a producer that
/// still counts on thieves and a worker that is no thief any more would leave a task between them.
/// `wake_all` follows each change, and answers for the threads that read the older value before their
/// fence.
///
/// All words are relaxed: the fences of the protocol order them.
class idle_settings {
 public:
  using timeout_kind = park_timeout_setting::mode;

  /// Takes the settings of this profile. Call from one thread at a time.
  void set(const profile& p) noexcept {
    constexpr auto relaxed = std::memory_order_relaxed;
    const auto minimum_at = minimum_at_of(p);
    for (std::size_t l = 0; l < level_count; ++l) minimum_at_[l].store(minimum_at[l], relaxed);
    lowest_first_.store(p.idle.wake == wake_order::lowest, relaxed);
    if (p.queues.lifo_cap != 0) slots_used_.store(true, relaxed);
    lifo_age_ns_.store(p.queues.lifo_age ? p.queues.lifo_age->count() : never, relaxed);
    const park_timeout_setting& timeout = p.idle.park_timeout;
    park_timeout_ns_.store(timeout.kind == timeout_kind::fixed      ? timeout.fixed.count()
                           : timeout.kind == timeout_kind::adaptive ? adapts
                                                                    : never,
                           relaxed);
    standstill_after_ns_.store(p.blocking.stuck_after.value_or(default_standstill).count(), relaxed);
    stealing_.store(p.steal.policy != "none", relaxed);
  }

  /// Returns whether workers take from each other.
  bool stealing() const noexcept { return stealing_.load(std::memory_order_relaxed); }
  /// Returns whether the lowest sleeper of a domain is woken first.
  bool lowest_first() const noexcept { return lowest_first_.load(std::memory_order_relaxed); }
  /// Returns how many tasks must wait in a domain before a worker at that level takes them.
  std::uint32_t least_at(level l) const noexcept {
    return minimum_at_[static_cast<std::size_t>(l)].load(std::memory_order_relaxed);
  }
  /// Returns whether tasks that have waited in a LIFO slot for `lifo_age` are given to other workers.
  bool slots_age() const noexcept {
    return stealing() && slots_used_.load(std::memory_order_relaxed) &&
           lifo_age_ns_.load(std::memory_order_relaxed) != never;
  }
  /// Returns after how long at the latest workers of other domains take what waits in a domain that stands
  /// still (standstill_watch.hpp).
  std::chrono::nanoseconds standstill_after() const noexcept {
    return std::chrono::nanoseconds{standstill_after_ns_.load(std::memory_order_relaxed)};
  }
  std::chrono::nanoseconds lifo_age() const noexcept {
    return std::chrono::nanoseconds{std::max<std::int64_t>(0, lifo_age_ns_.load(std::memory_order_relaxed))};
  }
  /// Returns which time-out sleepers have.
  timeout_kind park_timeout() const noexcept {
    const std::int64_t ns = park_timeout_ns_.load(std::memory_order_relaxed);
    return ns == adapts ? timeout_kind::adaptive : ns == never ? timeout_kind::never : timeout_kind::fixed;
  }
  /// Returns the time-out of each sleeper, where the profile has a fixed one.
  std::optional<std::chrono::nanoseconds> fixed_timeout() const noexcept {
    const std::int64_t ns = park_timeout_ns_.load(std::memory_order_relaxed);
    if (ns == adapts || ns == never) return std::nullopt;
    return std::chrono::nanoseconds{ns};
  }

 private:
  static constexpr std::int64_t never = -1;
  static constexpr std::int64_t adapts = -2; // of `park_timeout_ns_`
  static constexpr std::chrono::nanoseconds default_standstill = std::chrono::milliseconds{100};

  atomic<bool> stealing_{false};
  atomic<bool> lowest_first_{false};
  atomic<bool> slots_used_{false}; // under this profile, or under an earlier one
  std::array<atomic<std::uint32_t>, level_count> minimum_at_{};
  atomic<std::int64_t> lifo_age_ns_{never};
  atomic<std::int64_t> park_timeout_ns_{never};
  atomic<std::int64_t> standstill_after_ns_{default_standstill.count()};
};

} // namespace corewise::detail
