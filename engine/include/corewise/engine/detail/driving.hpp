#pragma once

#include <corewise/engine/detail/timer_node.hpp>
#include <corewise/engine/driver.hpp>
#include <corewise/engine/hint.hpp>
#include <corewise/engine/log_record.hpp>
#include <corewise/engine/submit_result.hpp>
#include <corewise/topology/ids.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace corewise {
class engine;
class runtime;
} // namespace corewise

namespace corewise::detail {

/// The functions of an engine for a layer above that makes a driver for it. Call from any thread, unless stated otherwise.
class driving {
 public:
  /// Looks after the driver of each group from now on, and keeps it as long as the engine. `drivers` by group;
  /// null: the group has none. Returns false if the engine has drivers already, or shuts down.
  static bool attach(engine& e, std::vector<std::shared_ptr<driver>> drivers);
  static runtime& of(engine& e) noexcept;

  /// Queues `fires` in `within` from now, in the wheel near the calling worker. Returns false if the engine has
  /// ended. The timer is not set again. Cost: a lock.
  static bool set_timer(timer_node& t, resumption& fires, std::chrono::nanoseconds within) noexcept;
  /// Returns whether the timer was pending; then it never fires.
  static bool cancel_timer(timer_node& t, const resumption& fires) noexcept;

  /// Notes that an operation has begun whose event will come. Call after `outstanding` says so. Cost: a fence and
  /// some loads; a system call where a worker has to be woken for the driver.
  static void begun(runtime& e, group_id g) noexcept;
  /// Submits a task to a group, as `engine::submit` does.
  static submit_result submit(runtime& e, task_header* t, const hint& wish);
  /// Offers a task to a group: one that is not accepted stays the caller's, and may be offered again.
  static submit_result offer(runtime& e, unbegun_task& t, const hint& wish);
  /// Returns whether `limits.in_flight` lets a task in now. Cost: two loads.
  static bool has_room(const runtime& e) noexcept;
  /// Submits a task that goes on with accepted work: neither a limit nor a shutdown refuses it. Once
  /// the engine has ended it is destroyed, unrun.
  static void go_on(runtime& e, task_header* t, group_id g) noexcept;

  /// Returns whether tasks wait in the ring of the calling worker, on which that root would go on.
  static bool others_wait(const coroutine_root& of) noexcept;
  /// Queues it behind them, and wakes no worker for it. Call where they wait.
  static void queue_behind(resumption& coroutine) noexcept;

  /// Returns a task that runs `t` and has the name. Without memory for it returns `t`. Cost: as that of `hint::name`.
  static task_header* named(runtime& e, task_header* t, const char* name) noexcept;

  /// Warns of `what` and `why`, once.
  static void warn_once(runtime& e, log_code code, const char* what, std::string_view why) noexcept;

  /// Returns the group of the worker that runs the calling task; nothing elsewhere.
  static std::optional<group_id> running_in(const runtime& e) noexcept;
  /// Returns the group that is nearest to the calling thread, or to g, and has workers.
  static group_id nearest(const runtime& e) noexcept;
  static group_id nearest(const runtime& e, group_id g) noexcept;
  /// Returns the capacity of the workers of g that are active now, at the speed that their cores have now; 0: no
  /// worker is active. Cost: two loads.
  static std::uint64_t capacity_now(const runtime& e, group_id g) noexcept;
  /// Returns for how long the workers of g have been busy, all together. Cost: two loads for each worker.
  static std::chrono::nanoseconds busy(const runtime& e, group_id g) noexcept;
};

} // namespace corewise::detail
