#pragma once

#include "base/task_clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace corewise::detail {

/// Finds domains that stand still: tasks wait there, and all its workers are in tasks that do not end, or
/// have lent their seats. Workers of other domains then take what waits, down to the last task, as if no worker
/// worked there.
///
/// Invariant: of a domain that stands still tasks have waited for half of `patience` or longer, and its
/// workers have begun none in between. After `patience` each such domain is found.
///
/// The time is that of the looks: each counts at most twice the rest before it. So nothing counts as waiting
/// while no thread looked, as when all workers slept. A domain that only got no CPU for so long is found as
/// well: then others help it, and nothing is lost. Call from one thread at a time.
class standstill_watch {
 public:
  explicit standstill_watch(std::size_t domains) : seen_(domains) {}

  /// How many tasks a domain's workers have begun so far, and how many wait there.
  struct sight {
    std::uint64_t begun;
    std::uint64_t waiting;
  };

  /// If it is time for a look, calls `found(domain, still)` for each domain, by what `see(domain)` returns.
  /// Returns how long the thread may sleep until the next one. Looks early if the thread is awake for another
  /// reason.
  template <class See, class Found>
  std::chrono::nanoseconds look(monotonic::time_point now, std::chrono::nanoseconds patience, const See& see,
                                const Found& found) noexcept {
    const auto rest = std::max<std::chrono::nanoseconds>(patience / 8, std::chrono::milliseconds{1});
    const monotonic::time_point next = looked_at_ + rest;
    if (now < next - rest / 2) return next - now;
    const auto passed = std::min<std::chrono::nanoseconds>(now - std::exchange(looked_at_, now), 2 * rest);
    for (std::uint32_t d = 0; d < seen_.size(); ++d) {
      const sight at = see(d);
      wait& before = seen_[d];
      const bool stands = at.begun == before.begun && at.waiting != 0;
      before = {at.begun, stands ? before.age + passed : std::chrono::nanoseconds{0}};
      found(d, before.age >= patience / 2);
    }
    return rest;
  }

 private:
  struct wait {
    std::uint64_t begun = 0;
    std::chrono::nanoseconds age{0};
  };

  std::vector<wait> seen_; // by domain
  monotonic::time_point looked_at_;
};

} // namespace corewise::detail
