#pragma once

#include "base/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace corewise::detail {

/// A queue: how many tasks wait in it, and a number that changes when one is taken.
struct queue_head {
  std::uint64_t waiting = 0;
  std::uint64_t taken = 0;
};

/// Finds for how long the oldest tasks have waited, by looking at all queues again and again. One thread at a time.
class head_watch {
 public:
  /// Returns for how long at least nothing was taken from a queue in which tasks wait. The first look finds nothing.
  /// `for_each(f)` calls f with each queue, always in the same order. Throws `std::bad_alloc` at its first look.
  template <class ForEach> std::chrono::nanoseconds look(monotonic::time_point now, const ForEach& for_each) {
    std::chrono::nanoseconds longest{0};
    std::size_t at = 0;
    for_each([&](const queue_head& head) {
      if (at == seen_.size()) seen_.push_back({head, now});
      sight& seen = seen_[at++];
      if (head.waiting == 0 || seen.head.waiting == 0 || head.taken != seen.head.taken) seen.since = now;
      seen.head = head;
      longest = std::max<std::chrono::nanoseconds>(longest, now - seen.since);
    });
    return longest;
  }

 private:
  struct sight {
    queue_head head;
    monotonic::time_point since; // nothing was taken, and tasks waited
  };
  std::vector<sight> seen_;
};

} // namespace corewise::detail
