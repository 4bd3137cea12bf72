#pragma once

#include "base/clock.hpp"

#include <corewise/engine/detail/lock.hpp>
#include <corewise/topology/throttling.hpp>

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace corewise::detail {

/// The CPU use of the process by the system, and how long the threads on seats were ready to run but had no CPU.
/// Reads files, so it looks once a second at most.
class host_usage {
 public:
  struct seen {
    monotonic::time_point at{}; ///< of the look
    cpu_throttling throttling;  ///< its counts never fall, whichever group had the quota
    std::vector<std::chrono::nanoseconds> waited_for_cpu; ///< on each seat
  };

  /// `root`: where `proc` and `sys` are.
  explicit host_usage(std::filesystem::path root = "/") : root_(std::move(root)) {}

  /// Looks, if the last look was a second before `now` and no other thread looks: so no caller waits for files. `threads`:
  /// the thread on each seat; each time as many. Call from any thread. Throws `std::bad_alloc`.
  seen look(std::span<const pid_t> threads, monotonic::time_point now);

 private:
  std::optional<std::chrono::nanoseconds> waited(pid_t thread) const;
  void count(cpu_throttling now);
  void read(std::span<const pid_t> threads, monotonic::time_point now);

  const std::filesystem::path root_;
  mutex given_lock_;
  seen given_; // guarded by it: a copy of `last_`
  mutex looking_;
  // guarded by it:
  std::optional<monotonic::time_point> looked_;
  std::unordered_map<pid_t, std::chrono::nanoseconds> counted_; // of each thread that sat on a seat
  std::optional<cpu_throttling> read_; // by the look before, of the group that had the quota then
  seen last_;
};

} // namespace corewise::detail
