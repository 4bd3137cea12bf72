#pragma once

#include "memory/near_nodes.hpp"
#include "runtime/debugger_view.hpp"
#include "runtime/host_follower.hpp"
#include "runtime/host_usage.hpp"
#include "runtime/speed_meter.hpp"
#include "threads/cpu_claims.hpp"
#include "threads/supervisor.hpp"
#include "threads/threads.hpp"
#include "worker/shared.hpp"

#include <corewise/engine/detail/execution.hpp>
#include <corewise/engine/detail/lock.hpp>
#include <corewise/engine/detail/loop.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/timer.hpp>
#include <corewise/policies/detail/atomic.hpp>
#include <corewise/policies/policy.hpp>

#include <span>

namespace corewise {

namespace detail {
struct load_sample;
}

/// The whole of an engine: the state that its workers share, and how the engine begins, takes tasks, takes
/// another profile, and ends. The engine's threads share its ownership. So it outlives a thread that is still
/// in a task when the engine is destroyed.
///
/// Reading order: `accept` → `worker::run` → `idle_workers::park`; docs/life_of_a_task.md follows a task
/// through it.
class runtime : public std::enable_shared_from_this<runtime>, public detail::shared {
 public:
  runtime(profile settings, engine_hooks hooks);
  ~runtime();

  /// Starts the workers' threads and waits until each sits on its seat. Throws `std::system_error`.
  void start();

  [[gnu::hot]] submit_result accept(task_header* t, const hint& wish, bool may_wait);
  /// Does the same, and leaves a task there that it refuses.
  submit_result offer(detail::unbegun_task& offered, const hint& wish);
  /// Does the same with a task that no drain and no limit counts.
  submit_result offer_daemon(detail::unbegun_task& offered, const hint& wish);
  bool has_room() const noexcept { return limit_.has_room(); }
  void drain();
  shutdown_report shutdown(std::chrono::nanoseconds grace, std::chrono::nanoseconds deadline);
  /// Does the same for the destructor, which may not throw. Without memory the report names less than there
  /// is.
  const shutdown_report& end(std::chrono::nanoseconds grace, std::chrono::nanoseconds deadline) noexcept;
  std::stop_token stop_token() const noexcept { return stop_.get_token(); }
  /// Puts another profile in force, or refuses it as a whole. Throws `profile_error`, `std::bad_alloc`.
  apply_result apply(profile next);
  /// Goes by what the host allows now. Returns what that changed; nothing if it changed nothing. Throws
  /// `std::bad_alloc`.
  std::optional<machine_change> follow(bool at_once);
  /// Returns the profile that is in force.
  profile configuration() const;
  /// Keeps the memory for ever, in the child of a process fork: no thread can join the workers' threads, and
  /// the locks may be held for ever.
  void keep_for_ever() noexcept { self_ = shared_from_this(); }

  /// Gives each group a driver. Returns false if the engine has drivers already, or shuts down.
  bool attach(std::vector<std::shared_ptr<driver>> drivers);
  /// Queues a task that goes on with accepted work near the workers of g: nothing refuses it. Once the engine has
  /// ended it is destroyed.
  void go_on(task_header* t, group_id g) noexcept;

  metrics_snapshot metrics() const;
  detail::load_sample sample_load() const;
  engine_dump dump() const;
  health_report health() const;
  /// Returns the same without what waits for sockets.
  health_report troubles() const;
  const detail::engine_signals& signals() const noexcept { return threads_.signals(); }
  std::vector<std::string> warnings() const {
    return after_process_fork() ? std::vector<std::string>() : notices_.warnings();
  }

  // --- coroutines that go on (submission.cpp)

  /// Makes a suspended coroutine the next task of the calling thread's worker, or sends it by `send_home`.
  void wake(detail::resumption& coroutine) noexcept;
  /// Queues it behind the tasks that wait on that worker.
  void wake_behind(detail::resumption& coroutine) noexcept;
  /// Places a coroutine as if it were submitted now. If the calling thread has lost its seat, `send_home`
  /// sends it.
  void place_again(detail::resumption& coroutine, const hint& wish) noexcept;
  /// Makes a suspended coroutine of another engine a task of this one. Ownership passes on. Returns false if
  /// the engine refuses it. Call from the thread that ran it.
  bool take_over(detail::resumption& coroutine);
  /// Sends a forked task to an available worker of that group. If the group has none, `send_home` sends the
  /// task.
  void fork_to(detail::coroutine_root& child, group_id to) noexcept;
  /// Queues a task that has not ended behind the tasks that wait for the calling worker, or sends it by
  /// `send_home`.
  void give_way(detail::coroutine_root& t) noexcept;
  /// Returns the groups' shares of a loop of `size`: in order, by the capacities of their active workers.
  /// Throws `std::bad_alloc`.
  detail::loop_share_list loop_shares(std::uint64_t size) const;

  /// Returns the group of the calling thread's worker, or the group that has the CPU that the thread is on,
  /// or else some group.
  group_id group_here() const noexcept;

  // --- timers (timers.cpp)

  /// Returns the group whose wheel takes the timers of a coroutine that is suspended now: that of `group_here`, but
  /// on the worker where it was suspended.
  group_id timer_home(const detail::resumption& coroutine) const noexcept;
  /// Cancels t. Returns whether t was pending; then t belongs to the caller. Call from any thread.
  bool cancel_timer(detail::timer_node& t) noexcept;
  /// Does the same, and wakes the coroutine that sleeps until then, if t was pending. Call from any thread.
  void stop_sleep(detail::timer_node& t, detail::resumption& sleeper) noexcept;
  /// Makes a call in `first` from now, and then every `period`, if that is not 0. Call from any thread; if
  /// the call is `inside`, from the thread of the task that runs.
  timer call_later(detail::scheduled* call, std::chrono::nanoseconds first, std::chrono::nanoseconds period,
                   detail::scheduled::on_set before = nullptr);

 private:
  class arriving_task;

  void check_machine();
  void check_thread_limit();
  bool open_to(bool inside) const noexcept;
  submit_result take_in(arriving_task& held, const hint& wish, bool may_wait);
  [[gnu::noinline]] submit_result take_in_near(arriving_task& held, const hint& wish, bool may_wait);
  std::uint8_t phase_for_children(std::uint8_t own) const noexcept;
  submit_result admit(bool inside, bool may_wait);
  /// Waits for room or refuses. Out of line: an accepted submission does not pay for it.
  [[gnu::noinline, gnu::cold]] submit_result wait_or_refuse(bool inside, bool may_wait);
  [[gnu::noinline, gnu::cold]] submit_result refuse_stopping() noexcept;
  [[gnu::hot]] submit_result admit_without_seat(detail::submitter& me, bool inside, bool may_wait,
                                                std::uint8_t& phase);
  [[gnu::hot]] void place_admitted(detail::submitter& me, task_header* t, const hint& wish) noexcept;
  [[gnu::hot]] void place_from_seat(detail::worker& seat, task_header* t, const hint& wish) noexcept;
  /// Places a task by the policy. Out of line, so that a worker that keeps its own tasks saves no registers
  /// for it.
  [[gnu::noinline]] void place_by_policy(detail::worker& seat, task_header* t, const hint& wish) noexcept;
  [[gnu::hot]] void place_from_outside(detail::submitter& from, const detail::rules& by, task_header* t,
                                       const hint& wish) noexcept;
  hint with_node(const hint& wish) noexcept;
  void send_woken(detail::resumption& coroutine) noexcept;
  /// Keeps the engine while the calling thread, one from outside, queues a coroutine that it has taken out of what it
  /// waits for.
  class waking;

  std::size_t outdated_rules() const noexcept;
  bool put_in_force(profile next, std::span<const std::uint32_t> workers,
                    std::span<const std::uint32_t> speeds);
  std::vector<std::uint32_t> speeds_at(const host_allowance& allowed) const;
  struct followed;
  followed go_by_host(bool at_once);
  void follow_host() noexcept;
  void place_memory(std::span<const std::optional<std::uint32_t>> nodes) noexcept;
  void show_seats() noexcept;
  bool let_more_take(std::span<const std::uint32_t> workers) noexcept;
  void set_active(std::span<const std::uint32_t> workers) noexcept;

  void count_workers(metrics_snapshot& m) const;
  void count_io(metrics_snapshot& m) const;
  detail::host_usage::seen look_at_host(detail::monotonic::time_point now) const;
  bool quiet(std::uint8_t phase) const;

  detail::atomic<bool> waits_when_full_; // relaxed: a setting by itself
  const detail::near_nodes near_nodes_;
  detail::atomic<std::uint64_t> rejected_{0};
  detail::atomic<std::uint64_t> refused_stopping_{0};
  detail::atomic<bool> near_warned_{false}; // warned that `near` has no effect
  detail::cpu_claim claim_;

  detail::mutex shutdown_mutex_;
  detail::mutex apply_mutex_;
  mutable detail::host_usage host_usage_;
  detail::host_follower host_;                     // guarded by apply_mutex_
  std::optional<detail::speed_meter> speed_meter_; // the same
  detail::change_book changes_;
  detail::atomic<std::uint64_t> reloads_{0};
  std::optional<shutdown_report> report_;
  std::stop_source stop_;
  std::shared_ptr<runtime> self_; // in the child of a process fork only
  detail::supervisor supervisor_;
  const detail::debugger_view shown_{*this};
  detail::worker_threads threads_; // last: its threads use all the rest
};

namespace detail {

/// Makes the calling thread an ordinary one if it was a worker in the parent of this process. After `fork` a
/// handler has done so; after `_Fork` the calls that wait do.
inline void forget_parent_process() noexcept {
  if (const runtime* const engine = this_execution.engine; engine != nullptr && engine->after_process_fork())
    this_execution = {};
}

} // namespace detail

} // namespace corewise
