#pragma once

#include "base/task_clock.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace corewise::detail {

/// Invariant: while a worker sleeps, no driver to which events may come is left for longer than `far_patience` and the time
/// between two looks.
///
/// Finds drivers in which no thread looks while events may come: the workers of the group that are awake are in
/// long tasks. Then a sleeper is woken to look there: one of the group after `patience`, else one of another
/// group after `far_patience`. That one also runs what it finds, where workers steal: the group would let it wait until its
/// tasks are known to be long.
///
/// It looks every `far_patience`, half as often while no worker sleeps, and every `patience` while a sleeper of a group
/// could look there. It looks also while no event may come: a worker that begins an operation does not call. Call from
/// one thread at a time.
class driver_watch {
 public:
  static constexpr std::chrono::nanoseconds patience = std::chrono::microseconds{50};
  static constexpr std::chrono::nanoseconds far_patience = std::chrono::microseconds{500};

  explicit driver_watch(std::size_t groups) : seen_(groups) {}

  struct sight {
    bool neglected; ///< events may come, and no thread holds the driver
    std::uint64_t times_held;
    bool has_sleeper; ///< a worker of the group sleeps
  };

  /// `sleepers`: any worker sleeps. `see(group)` returns nothing where no event may come. `wake(group, far)`
  /// wakes a sleeper of that group, or of the nearest. Returns how long the thread may sleep until the next look.
  template <class See, class Wake>
  std::chrono::nanoseconds look(monotonic::time_point now, bool sleepers, const See& see,
                                const Wake& wake) noexcept {
    std::chrono::nanoseconds rest = sleepers ? far_patience : 2 * far_patience;
    for (std::uint32_t g = 0; g < seen_.size(); ++g) {
      const std::optional<sight> at = see(g);
      wait& before = seen_[g];
      if (!at) {
        before.since = now;
        continue;
      }
      if (!at->neglected || at->times_held != before.times_held) before = {at->times_held, now};
      const auto age = now - before.since;
      if (sleepers && age >= (at->has_sleeper ? patience : far_patience)) {
        wake(g, !at->has_sleeper);
        before.since = now;
      }
      if (sleepers && at->neglected && at->has_sleeper) rest = patience;
    }
    return rest;
  }

 private:
  struct wait {
    std::uint64_t times_held = 0;
    monotonic::time_point since;
  };

  std::vector<wait> seen_; // by group
};

} // namespace corewise::detail
