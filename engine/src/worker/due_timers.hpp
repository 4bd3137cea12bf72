#pragma once

#include "base/task_clock.hpp"
#include "timers/timer_watch.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace corewise::detail {

class shared;
class worker;
struct scheduled;

/// The timers of an engine, by group. Any thread sets them, and the workers fire those that are due.
class due_timers {
 public:
  /// `groups` must outlive this. Throws `std::bad_alloc`.
  due_timers(shared& engine, std::vector<timer_group*> groups)
      : engine_(engine),
        groups_(std::move(groups)),
        watch_(groups_) {}

  std::span<timer_group* const> groups() const noexcept { return groups_; }
  timer_watch& watch() noexcept { return watch_; }

  /// Sets t in the wheel of its group. `now_ns` is about the present, and not later. Call from any thread; t
  /// may be gone when this returns.
  timer_group::outcome set(timer_node& t, std::int64_t now_ns) noexcept;
  /// Sets a call of `every` for the next time. Call after it has ended.
  void beat_again(scheduled& call) noexcept;

  /// Fires the due timers of the worker's group. Call from the seat's thread. Cost while none is due: a load.
  void look(worker& seat, group_id own, monotonic::time_point now) noexcept {
    if (now.time_since_epoch().count() >= watch_.of(own).next_ns()) [[unlikely]]
      fire_due(seat, own, now);
  }
  /// Fires the due timers of one other group, the next in the order of stealing each time: those of a group whose
  /// workers have retired, or stand in long tasks, do not wait for a worker without work. Call from the seat's thread.
  /// Cost while none is due: a load.
  void look_elsewhere(worker& seat, group_id own, std::uint64_t turn, monotonic::time_point now) noexcept;
  /// Fires the due timers of all groups; those of the worker's own group go to its ring. Returns whether any
  /// was due. Call from the seat's thread.
  bool fire_all_due(worker& seat) noexcept;

 private:
  void fire_due(worker& seat, group_id g, monotonic::time_point now) noexcept;
  void fire(worker& seat, group_id g, timer_node& t, std::int64_t now) noexcept;
  void submit_fired(worker& seat, group_id g, scheduled& call, std::int64_t now) noexcept;
  void find_no_room(scheduled& call) noexcept;
  void set_again(scheduled& call, std::int64_t now) noexcept;

  shared& engine_;
  std::vector<timer_group*> groups_;
  timer_watch watch_;
  atomic<std::int64_t> next_try_ns_{0}; // of calls that found no room; relaxed: a number
};

} // namespace corewise::detail
