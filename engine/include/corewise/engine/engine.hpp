#pragma once

#include <corewise/engine/apply_result.hpp>
#include <corewise/engine/blocking_full.hpp>
#include <corewise/engine/detail/schedule.hpp>
#include <corewise/engine/dump.hpp>
#include <corewise/engine/future.hpp>
#include <corewise/engine/health.hpp>
#include <corewise/engine/hint.hpp>
#include <corewise/engine/log_record.hpp>
#include <corewise/engine/machine_change.hpp>
#include <corewise/engine/metrics.hpp>
#include <corewise/engine/profile.hpp>
#include <corewise/engine/shutdown_report.hpp>
#include <corewise/engine/submit_result.hpp>
#include <corewise/engine/task.hpp>
#include <corewise/engine/timer.hpp>
#include <corewise/engine/trace.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace corewise {

namespace detail {
class driving;
class local_objects;
class moving_to_engine;
} // namespace detail

/// The hooks of an embedder. The engine's threads call them; constructing threads call the log, too. A hook
/// must not throw, and must stay callable while tasks run, that is, until `shutdown` was clean.
struct engine_hooks {
  std::function<void(worker_id)> on_worker_start; ///< on each thread that takes a worker's seat
  std::function<void(worker_id)> on_worker_stop;
  std::function<void(std::string_view)> log;            ///< warnings and reports; silent by default
  std::function<void(const log_record&)> on_log_record; ///< the same for programs: with a code and numbers
  /// With `debug.flight_recorder`, after the report of a stuck worker: what all threads have done since 100 ms before
  /// its task began, or since earlier, as far as their rings go back.
  std::function<void(const engine_trace&)> on_stuck_trace;
  std::function<void(std::exception_ptr)>
      on_exception; ///< a task's exception, when the profile says `report`
};

/// A pool of workers that knows the machine.
///
///     corewise::engine e;
///     (void)e.submit([] { work(); });
///     e.drain();
///
/// Call any member from any thread, and from tasks unless it says otherwise. In the child of a process fork
/// every call on an engine of the parent's returns at once: `stopping`, an empty answer, or `not_run` from a
/// future whose work had not ended at the fork. No thread is a worker there. These answers call no `operator new`, but for
/// `configuration`, a copy, and `not_run`, an exception. The child may make engines of
/// its own after `fork`, not after `_Fork`. A child that returns from the task that forked ends by
/// `_exit(0)`, and one whose task throws by `_exit(1)`: nothing else of the parent's runs there, and no hook
/// is called.
class engine {
 public:
  /// Starts the workers that the profile asks for. Trouble with the machine becomes `warnings()`, or with
  /// `strict` an error. Throws `profile_error`, `topology_error`, `std::system_error`.
  explicit engine(profile p, engine_hooks hooks = {});
  /// Does the same with the default profile.
  engine();
  /// Calls `shutdown(destructor_deadline)`, and tells the log what remained. In a task of this engine (the
  /// last owner, or `exit`) it does not wait for tasks: the calling one would wait for itself.
  ~engine();
  engine(engine&&) = delete;

  static constexpr std::chrono::seconds destructor_deadline{10};

  /// Runs `f()` once on a worker near the caller, or where `wish` says. With `limits.on_full: wait` a thread
  /// from outside waits for room. A task of any engine never waits (it could deadlock) and gets `full`. Cost:
  /// no system call while a worker is awake; one when a sleeper is woken. Allocates from recycled blocks. A
  /// callable that is trivially copyable and captures at most 16 bytes crosses to another core in fewer cache
  /// lines than others. Throws what copying or moving `f` throws, `std::bad_alloc`.
  template <std::invocable F> submit_result submit(F&& f, const hint& wish = no_hint) {
    return accept(make_closure(std::forward<F>(f)), wish, /*may_wait=*/true);
  }
  /// Runs a coroutine as a task. The task's `on_exception` handles an exception that leaves the coroutine.
  submit_result submit(task<void> coroutine, const hint& wish = no_hint) {
    return accept(std::move(coroutine).release_to(*runtime_), wish, /*may_wait=*/true);
  }
  /// Acts as `submit` with a deadline in the hint: if it passes before the task has begun, `on_expired()` is
  /// called in its place.
  template <std::invocable F, std::invocable G>
  submit_result submit(F&& f, const hint& wish, G&& on_expired) {
    detail::unbegun_task task(make_closure(std::forward<F>(f)));
    task_header* const otherwise = make_closure(std::forward<G>(on_expired));
    return accept(task.release(), wish, otherwise);
  }
  template <std::invocable G> submit_result submit(task<void> coroutine, const hint& wish, G&& on_expired) {
    task_header* const otherwise = make_closure(std::forward<G>(on_expired));
    return accept(std::move(coroutine).release_to(*runtime_), wish, otherwise);
  }
  /// Acts as `submit`. If the engine refuses the task, it calls `on_refused(std::move(f), why)` at once, on
  /// the calling thread, where `f` is the callable that was passed: so nothing that it owns is lost.
  /// Throws the exceptions of `on_refused`.
  template <std::invocable F, std::invocable<std::decay_t<F>, submit_result> G>
  submit_result submit_or(F&& f, G&& on_refused, const hint& wish = no_hint) {
    detail::unbegun_task task(make_closure(std::forward<F>(f)));
    const submit_result in = offer(task, wish);
    if (in != submit_result::accepted) {
      auto& refused = static_cast<detail::closure<std::decay_t<F>>&>(*task);
      std::forward<G>(on_refused)(std::move(refused.function), in);
    }
    return in;
  }
  /// Acts so with a coroutine, which has not begun: it may be submitted again, awaited, or dropped.
  template <std::same_as<task<void>> T, std::invocable<T, submit_result> G>
  submit_result submit_or(T coroutine, G&& on_refused, const hint& wish = no_hint) {
    detail::unbegun_task root(std::move(coroutine).release_to(*runtime_));
    const submit_result in = offer(root, wish);
    if (in != submit_result::accepted)
      std::forward<G>(on_refused)(
          detail::fork_access::retake<T>(static_cast<detail::strand&>(*root.release())), in);
    return in;
  }
  /// Acts as `submit`, but never waits.
  template <std::invocable F> submit_result try_submit(F&& f, const hint& wish = no_hint) {
    return accept(make_closure(std::forward<F>(f)), wish, /*may_wait=*/false);
  }
  submit_result try_submit(task<void> coroutine, const hint& wish = no_hint) {
    return accept(std::move(coroutine).release_to(*runtime_), wish, /*may_wait=*/false);
  }

  /// Runs a coroutine as a task. Returns a future of its value; an exception that leaves the coroutine goes
  /// to the future. As `submit`, it waits for room. If the engine refuses or drops the task, the future
  /// throws `not_run`. Cost: that of `submit`; two recycled blocks.
  template <class T> future<T> run(task<T> work, const hint& wish = no_hint) {
    using namespace detail;
    auto* const state = new future_state_of<T>;
    settlement<T> end(state);
    future<T> result(state);
    state->work = fork_access::frame_of(work);
    task<> ends = settlement<T>::when_ended(std::move(end), std::move(work));
    task_header* const root = std::move(ends).release_to(*runtime_);
    static_cast<strand*>(root)->note_future(*state);
    accept_work(root, wish, *state);
    return result;
  }
  /// Calls a copy of `f` once, as a task. If `f` returns a `task<T>`, runs that task, and the copy lives
  /// until it has ended.
  template <std::invocable F> auto run(F&& f, const hint& wish = no_hint) {
    using result = std::invoke_result_t<std::decay_t<F>&>;
    if constexpr (detail::is_task<result>) {
      return run([](std::decay_t<F> body) -> result { co_return co_await body(); }(std::forward<F>(f)), wish);
    } else {
      using namespace detail;
      auto* const state = new future_state_of<result>;
      settlement<result> end(state);
      future<result> answer(state);
      accept_work(make_closure(settling<result, std::decay_t<F>>{std::move(end), std::forward<F>(f)}), wish,
                  *state);
      return answer;
    }
  }

  /// `co_await e.schedule(wish)`: the calling coroutine, which this engine must run, goes on as if it were
  /// submitted now, where `wish` says and from then on of that class. Throws `std::logic_error` elsewhere.
  /// Cost: that of `submit`, without a block.
  detail::rescheduling schedule(const hint& wish = no_hint) noexcept { return {*runtime_, wish}; }

  /// Calls `f()` once, as a task that comes from outside, `d` from now or later, never before. Until then
  /// `drain` does not wait for it, and a shutdown drops it. While `limits.in_flight` tasks are in flight the
  /// call waits. Returns a handle, which cancels the call; the handle is empty when the engine shuts down.
  /// Cost: a lock, and a recycled block until the call has been made and the handle is gone. The block has 40 bytes for
  /// the timer and 64 for the call, beside `f`: so 128 bytes where `f` has no more than 24. A coroutine that sleeps has
  /// the 40 in its frame. Throws what copying or moving `f` throws, `std::bad_alloc`.
  template <std::invocable F> timer after(any_duration d, F&& f) {
    return call_later(detail::scheduled_call<std::decay_t<F>>::make(std::forward<F>(f)), d, {});
  }
  /// Acts as above, until a stop is requested: that cancels the call as the handle does, whether the handle
  /// is kept or not.
  template <std::invocable F> timer after(any_duration d, F&& f, std::stop_token token) {
    return call_until_stop(std::forward<F>(f), std::move(token), d, {});
  }
  /// Calls `f()` as `after` does at every multiple of `period` from now, until the handle cancels it or the
  /// engine shuts down. Times do not drift: each is reckoned from the first. A beat is left out and counted
  /// (`timer::skipped`) if its time passes while the call before still runs, or if the engine has no room for
  /// it. An exception ends a call, not the beats. Throws `std::invalid_argument` when the period is not above
  /// 0.
  template <std::invocable F> timer every(any_duration period, F&& f) {
    check_period(period);
    return call_later(detail::scheduled_call<std::decay_t<F>>::make(std::forward<F>(f)), period, period);
  }
  /// Acts as above, until a stop is requested; a call that runs goes on to its end.
  template <std::invocable F> timer every(any_duration period, F&& f, std::stop_token token) {
    check_period(period);
    return call_until_stop(std::forward<F>(f), std::move(token), period, period);
  }

  /// Waits until all tasks that were submitted before the call have ended, and all that those tasks submitted
  /// in turn. Throws `std::logic_error` on a worker of this engine, where it would deadlock.
  void drain();

  /// Ends the engine: accepts nothing from outside any more, requests the stop of `stop_token`, runs queued
  /// tasks until the deadline, then drops the rest. Suspended coroutines are destroyed, except for those
  /// whose waits another thread will settle (`shutdown_report::kept`). Returns the tasks that still run then;
  /// their threads end when the tasks do. Later calls return the same report. Other threads may wake
  /// coroutines meanwhile. Throws `std::logic_error` on a thread of this engine; `std::bad_alloc` for want of memory for
  /// the caller's report: then the engine has ended, and the next call has it. A callback of the stop must not shut the
  /// engine down.
  shutdown_report shutdown(any_duration deadline) { return shutdown(std::chrono::nanoseconds{0}, deadline); }
  /// Acts as above, but requests the stop only when `grace` is over, or all tasks have ended. Both times
  /// count from the call.
  shutdown_report shutdown(any_duration grace, any_duration deadline);

  /// Returns the token that tells tasks that the engine is about to drop what does not end. Call from any
  /// thread. Cost: two locked instructions.
  std::stop_token stop_token() const noexcept;

  /// Replaces the profile without losing a task, or refuses the new one as a whole, with the list of what
  /// needs a restart (docs/profile.md says of each key whether it does). Workers take the new profile up one
  /// after another, each at the end of its tick. When it asks for fewer workers, those that are too many give
  /// their waiting tasks away, finish their task and sleep until a later profile asks for them. The number of
  /// workers may grow up to that of the seats (`workers.headroom`). An engine that shuts down refuses.
  /// Call from any thread, tasks included; it waits for no other thread but one that looks at the host just now, some
  /// files. Cost: a new policy object, and a wake-up for each sleeper. Throws `profile_error` with all that is wrong
  /// with the profile, `std::bad_alloc`; then nothing has changed.
  apply_result apply(profile p);

  /// Looks now at what the host allows, the CPU quota, the cpuset, the affinity mask and the CPUs online, and goes by
  /// it: workers retire, or come back, and threads are pinned again. Returns what has changed, if anything. While tasks
  /// run the engine does so by itself (`topology.follow`), but takes more only when it has been more for 2 s. The
  /// affinity mask is that of the engine's thread named `/watch`, which begins with the first task. Call from any
  /// thread, tasks included. Cost: some twenty files, 0.2 ms; a change costs as much as `apply`. Throws
  /// `std::bad_alloc`.
  std::optional<machine_change> refresh();

  metrics_snapshot metrics() const;
  /// Returns what every worker is doing now. Safe on a live daemon: no worker waits for it, but for a moment one whose
  /// operation on a socket begins to wait, or ends, while that group's list is copied. Throws `std::bad_alloc`.
  engine_dump dump() const;
  /// Returns whether the engine does its work now, for a watchdog or a readiness probe. Cost: a few words of
  /// each worker. Throws `std::bad_alloc`.
  health_report health() const;
  /// Has all threads record what they do, for that time, and returns it. It costs each task 60 to 140 ns meanwhile, each
  /// thread 256 KB, and `most_events` 32 bytes each. Call from any thread, but from a worker of this engine only within
  /// `blocking`; there it throws `std::logic_error`. Throws `std::bad_alloc`.
  engine_trace trace(any_duration d, std::size_t most_events = trace_session::default_events) const;
  /// Returns what the machine could not give, which is complete when the constructor returns; then the first
  /// reports of stuck workers (`blocking.stuck_after`), 32 at most.
  std::vector<std::string> warnings() const;

  /// Returns the profile that holds now.
  profile configuration() const;
  const topology& machine() const noexcept;
  const locality_groups& groups() const noexcept;
  /// Returns all seats, headroom too. `metrics().total().active` is how many of their workers take tasks now.
  const worker_layout& workers() const noexcept;

  /// Returns memory on the node of a group, for data that its workers use: pages that lie there, where the
  /// machine has several nodes and gives them (`workers.memory`). It lives as long as the engine. Call from
  /// any thread. Cost: a lock that the group shares, and a system call where more pages are needed; the pages
  /// go back at the engine's end. Throws `std::out_of_range`; when allocating, `std::bad_alloc`.
  std::pmr::memory_resource& memory(group_id g) const;

  /// Returns the worker that runs the calling task. Returns nothing outside this engine's tasks, within
  /// `blocking`, and after it when a spare thread has taken the worker's seat.
  std::optional<worker_id> this_worker() const noexcept;

 private:
  friend class blocking_scope;
  friend class engine_set;
  friend class trace_session;
  friend class detail::driving;
  friend class detail::local_objects;
  friend class load_meter;
  friend detail::moving_to_engine resume_on(engine& e) noexcept;

  [[gnu::hot]] submit_result accept(task_header* t, const hint& wish, bool may_wait);
  submit_result accept(task_header* t, const hint& wish, task_header* otherwise);
  submit_result offer(detail::unbegun_task& t, const hint& wish);
  void accept_work(task_header* t, const hint& wish, detail::future_state& settled_by_it);
  timer call_later(detail::scheduled* call, std::chrono::nanoseconds first, std::chrono::nanoseconds period,
                   detail::scheduled::on_set before = nullptr);
  template <class F>
  timer call_until_stop(F&& f, std::stop_token token, std::chrono::nanoseconds first,
                        std::chrono::nanoseconds period) {
    using call = detail::scheduled_call<detail::until_stop<std::decay_t<F>>>;
    return call_later(call::make(std::forward<F>(f), std::move(token)), first, period,
                      [](detail::scheduled& made, const std::weak_ptr<class runtime>& e) {
                        static_cast<call&>(made).function.listen(made, e);
                      });
  }
  static void check_period(std::chrono::nanoseconds period) {
    if (period.count() <= 0) throw std::invalid_argument("engine::every: the period is not above 0");
  }

  std::shared_ptr<class runtime> runtime_;
};

/// Runs the task on the engine and waits for it. Returns its value or throws its exception. Call from
/// threads; on a worker it throws `std::logic_error`, and the task does not run.
template <class T> T sync_wait(engine& on, task<T> work) {
  detail::check_may_wait();
  return on.run(std::move(work)).get();
}

/// Calls `f()` there, awaits its result, a loop for instance, and returns the result of that await. Call as
/// above; from a plain task call it within `blocking`.
///
///     sync_wait(engine, [&] { return parallel_for(numbers, work); });
template <std::invocable F> auto sync_wait(engine& on, F f) -> decltype(f().await_resume()) {
  using result = decltype(f().await_resume());
  return sync_wait(on, [](F& awaited) -> task<result> { co_return co_await awaited(); }(f));
}

namespace detail {

class blocking_limit;
class worker;

/// A seat that a task has lent, or none. The task does not hold a worker, and no task is placed there. If
/// that lasts, a spare thread takes the seat for good; otherwise the task gets it back.
struct lent_seat {
  /// Lends the seat, if it is one.
  void lend(worker* own) noexcept;
  void regain() const noexcept;

  worker* seat = nullptr; // null: none
  std::uint64_t lending = 0;
};

/// While it lives, the calling thread's seat is lent.
class blocking_region {
 public:
  blocking_region() noexcept;
  blocking_region(const blocking_region&) = delete;
  blocking_region& operator=(const blocking_region&) = delete;
  ~blocking_region();

 private:
  lent_seat lent_;
};

/// A call of `blocking` while it lasts: it lends the seat, and has a permit where the engine limits its calls
/// (`blocking.max_concurrent`). Calls that the thread makes within it need no other permit.
class blocking_turn {
 public:
  /// Lends the seat, and then waits for a permit, if the call needs one. Throws `blocking_full` before that
  /// where the call is not to wait.
  blocking_turn();
  /// Takes over a permit that was taken for the call. Null: the call needs none.
  explicit blocking_turn(blocking_limit* taken) noexcept;
  blocking_turn(const blocking_turn&) = delete;
  blocking_turn& operator=(const blocking_turn&) = delete;
  ~blocking_turn();

 private:
  // These have no destructors, so that the constructor has no code for exceptions.
  blocking_limit* limit_ = nullptr; // null: the call needs no permit
  lent_seat lent_;

  void begin_in_place();
  void end_in_place() const noexcept;
};

} // namespace detail

/// Calls `f`, which may block (files, locks, waiting), from a task without taking a worker away from the
/// other tasks. When `f` takes longer than about 100 us, a spare thread takes the worker's seat, and this
/// thread finishes the task beside it. Until `f` has returned the task is on no worker. Outside a task it
/// just calls `f`. Where `blocking.max_concurrent` calls run already, the call first waits on this thread, with the worker
/// lent, or throws `blocking_full` (`blocking.on_full`). When a reload asks for that, calls that wait throw as well. A call
/// within another is a part of that one and does not wait. Cost: about 60 ns when `f` is short, else a thread is woken,
/// 5-20 us; two locks more under such a limit. Throws what `f` throws, `blocking_full`.
template <std::invocable F> decltype(auto) blocking(F&& f) {
  const detail::blocking_turn turn;
  return std::forward<F>(f)();
}

} // namespace corewise
