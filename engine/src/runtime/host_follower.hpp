#pragma once

#include "base/clock.hpp"
#include "runtime/share_file.hpp"

#include <corewise/engine/detail/lock.hpp>
#include <corewise/engine/profile.hpp>
#include <corewise/topology/capability_events.hpp>
#include <corewise/topology/firmware_speeds.hpp>
#include <corewise/topology/host_allowance.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

namespace corewise::detail {

/// The allowance that an engine uses, of what the host allows it. It takes less at once, since workers on CPUs that are
/// gone, or beyond a quota, hold up the tasks that they have begun. It takes more when the host has allowed the same
/// for `calm`, since CPUs that come and go would cost more than they bring: CPUs, quota, speeds and memory nodes each
/// for themselves. Call from one thread at a time.
class host_follower {
 public:
  static constexpr std::chrono::seconds calm{2};

  /// Goes by what the host allows the calling thread now. Only a live machine, or a recorded one, has limits to follow, and
  /// is shared with others. Throws `topology_error` where the profile's `sharing.file` cannot be used.
  host_follower(const profile& p, const topology& machine, const locality_groups& groups);
  /// Also goes by what comes there of the speed of cores. For tests; with `topology.hfi` it asks the kernel.
  void hear(capability_events from) { events_.emplace(std::move(from)); }
  /// Begins with that, for tests.
  explicit host_follower(host_allowance at_begin)
      : begin_(std::move(at_begin)),
        in_force_(begin_),
        seen_(begin_) {}

  /// Reads what the host allows `thread` of this process, 0 where there is none that is not pinned, and what others leave
  /// where the engine shares the machine, with the weight of the profile in force. Returns what to go by from now on, if
  /// it differs from what is in force. `at_once`: does not wait for calm. Throws `std::bad_alloc`.
  std::optional<host_allowance> look(pid_t thread, monotonic::time_point now, bool at_once,
                                     const profile::sharing_section& sharing);
  /// Does the same with what was read.
  std::optional<host_allowance> see(host_allowance seen, monotonic::time_point now, bool at_once);
  void go_by(host_allowance next) noexcept { in_force_ = std::move(next); }
  /// Ends the share of this engine, so that the other sharers have its cores.
  void end_sharing() noexcept { shares_.reset(); }

  const host_allowance& in_force() const noexcept { return in_force_; }
  /// Returns the CPUs that are allowed and were not at the start, so that nothing is known of them.
  cpu_set unknown() const;
  /// Returns the numbers of the memory nodes that have come and of which nothing is known.
  cpu_set unknown_nodes() const;
  /// Returns whether a look at the start would find something to go by: groups that are slowed, others that share.
  bool has_more_to_see() const noexcept {
    return shares_.has_value() || !begin_.speeds.empty() || !deaf_.empty();
  }
  /// Returns what was wrong with sharing the machine at the last look, or with hearing of the hardware, for people; empty:
  /// nothing.
  const std::string& doubt() const noexcept { return doubt_; }

 private:
  std::vector<std::uint32_t> speeds();
  void share(host_allowance& seen, std::uint32_t weight);

  std::optional<std::filesystem::path> root_; // of proc and sys
  host_allowance begin_;
  host_allowance in_force_;
  host_allowance seen_;      // at the last look
  std::size_t readable_ = 0; // files, at the start
  host_allowance read_;      // by the last look that could read
  // Since when each part has been as it was seen.
  monotonic::time_point cpus_since_;
  monotonic::time_point quota_since_;
  monotonic::time_point speeds_since_;
  monotonic::time_point nodes_since_;

  std::string name_; // of the engine, for those with which it shares
  const topology* machine_ = nullptr;
  const locality_groups* groups_ = nullptr;
  std::optional<firmware_speeds> firmware_;
  std::optional<capability_events> events_;
  std::optional<share_file> shares_;
  cpu_set share_;    // as it was at the last look that worked
  std::string deaf_; // why nothing is heard of the hardware
  std::string doubt_;
};

/// How often the host has changed what it allows, and what it was the last time. Any thread.
class change_book {
 public:
  struct entry {
    std::uint64_t changes = 0;
    std::string last;
  };
  void note(const std::string& text) {
    const std::scoped_lock lock(mutex_);
    entry_.last = text;
    ++entry_.changes;
  }
  entry read() const {
    const std::scoped_lock lock(mutex_);
    return entry_;
  }

 private:
  mutable mutex mutex_;
  entry entry_; // guarded
};

} // namespace corewise::detail
