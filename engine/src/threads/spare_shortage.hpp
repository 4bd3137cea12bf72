#pragma once

#include "base/clock.hpp"
#include "base/task_clock.hpp"

#include <corewise/policies/detail/atomic.hpp>
#include <corewise/topology/ids.hpp>

#include <memory>

namespace corewise::detail {

class shared;
class worker_threads;

/// Reports that the engine is short of spare threads: a seat has been lent for 100 ms, no spare thread takes
/// it, and tasks wait that its worker would run. If the calls that block wait for those very tasks, they
/// never end.
///
/// An *episode* is reported and counted once. It is over when the engine has not been short of threads for a
/// second.
class spare_shortage {
 public:
  /// All arguments outlive it. Throws `std::bad_alloc`.
  spare_shortage(shared& engine, const worker_threads& threads);

  /// Looks at the lent seats, and whether tasks begin, at most every 50 ms. Call from the supervisor's thread. Cost: a
  /// word for 64 workers, the lines of the lent seats, and a line for each worker.
  void look(monotonic::time_point now) noexcept;

  /// Ends an episode: all workers sleep. Call from the supervisor's thread.
  void end() noexcept {
    in_episode_.store(false, std::memory_order_relaxed);
    nothing_begins_.store(false, std::memory_order_relaxed);
  }

  /// Returns whether an episode goes on. Call from any thread.
  bool in_episode() const noexcept { return in_episode_.load(std::memory_order_relaxed); }
  /// Returns whether that lending of a seat has lasted for long while the engine is short of spare threads. Call from
  /// any thread.
  bool wants_spare(worker_id w, std::uint64_t lending) const noexcept {
    return in_episode() && seen_[w.value].long_lent.load(std::memory_order_relaxed) == lending;
  }
  /// Returns whether no worker has begun a task for a second and more, while the supervisor looked. Call from any thread.
  bool nothing_begins() const noexcept { return nothing_begins_.load(std::memory_order_relaxed); }
  /// Returns how many episodes there have been. Call from any thread.
  std::uint64_t episodes() const noexcept { return episodes_.load(std::memory_order_relaxed); }

 private:
  struct sight {
    std::uint64_t lending = 0;
    monotonic::time_point since;
    atomic<std::uint64_t> long_lent{0}; // the last lending that has lasted for long; relaxed: for people
  };

  void look_at_progress(monotonic::time_point now) noexcept;
  bool work_waits_for(worker_id w) const noexcept;
  std::size_t count_short(monotonic::time_point now) noexcept;
  void report(std::size_t seats) noexcept;

  shared& engine_;
  const worker_threads& threads_;
  std::unique_ptr<sight[]> seen_; // by worker
  monotonic::time_point looked_at_;
  monotonic::time_point short_at_; // when the engine was seen short of threads last
  std::uint64_t begun_ = 0;        // tasks, at the look before
  monotonic::time_point begun_at_; // the last look that saw more
  monotonic::time_point last_progress_look_;
  // Single writer; relaxed: for people.
  atomic<bool> in_episode_{false};
  atomic<bool> nothing_begins_{false};
  atomic<std::uint64_t> episodes_{0};
};

} // namespace corewise::detail
