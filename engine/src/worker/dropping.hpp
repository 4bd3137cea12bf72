#pragma once

#include <corewise/engine/detail/lock.hpp>
#include <corewise/engine/detail/suspension.hpp>
#include <corewise/engine/detail/task_header.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace corewise::detail {

class shared;
class worker;

/// Destroys the tasks that are still queued or suspended when an engine has ended.
class dropping {
 public:
  explicit dropping(shared& engine) noexcept : engine_(engine) {}

  /// Destroys what is queued, unrun. Call from any thread, after the engine has ended.
  void drop_queued() noexcept;
  /// Destroys the suspended coroutines and what is queued, and keeps the coroutines whose waits others
  /// settle. Waits until wakers from outside have queued what they woke. Call when no thread of the engine is
  /// left that could resume them.
  void drop_suspended() noexcept;
  /// Drops all queued tasks, if the last task of `seat` left any there. Call after the engine has ended, from
  /// the thread that leaves `seat`.
  void drop_rest_of(worker& seat) noexcept;

  /// Counts a task that was destroyed because its parts were, the last of which has run. Call from any thread.
  void note_dropped() noexcept;
  /// Returns how many tasks were destroyed before their end. Call from any thread.
  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }
  /// Returns how many coroutines were kept, for each kind of wait that has any. Call from any thread.
  std::vector<suspended_in> kept() const;

 private:
  void drop(task_header* t) noexcept;
  void drop_all() noexcept;
  void keep(suspension& s) noexcept;
  bool drop_round() noexcept;
  bool drop_timers() noexcept;
  task_header* pop_inbox_of(worker& seat) noexcept;

  shared& engine_;
  atomic<std::uint64_t> dropped_{0};
  std::array<atomic<std::uint64_t>, wait_kinds> kept_{};
  mutex inboxes_; // held to pop an unbounded inbox in place of its worker
};

} // namespace corewise::detail
