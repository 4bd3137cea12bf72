#pragma once

#include <corewise/engine/apply_result.hpp>
#include <corewise/engine/detail/schedule.hpp>
#include <corewise/engine/dump.hpp>
#include <corewise/engine/future.hpp>
#include <corewise/engine/hint.hpp>
#include <corewise/engine/metrics.hpp>
#include <corewise/engine/profile.hpp>
#include <corewise/engine/suspended.hpp>
#include <corewise/engine/task.hpp>
#include <corewise/engine/timer.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <memory_resource>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace corewise {

namespace detail {
class local_places;
class moving_to_engine;
} // namespace detail

/// What became of a submitted task. A task that was not accepted was destroyed without having run.
enum class [[nodiscard]] submit_result : std::uint8_t {
  accepted,
  full,     ///< `limits.in_flight` tasks are in flight already
  stopping, ///< the engine shuts down, or this is a forked child
};

/// What an embedder can hook into. Called from the engine's threads, and the log from constructing ones; must
/// not throw, and must stay callable while tasks run, that is, until `shutdown` was clean.
struct engine_hooks {
  std::function<void(worker_id)> on_worker_start; ///< on each thread that takes a worker's place
  std::function<void(worker_id)> on_worker_stop;
  std::function<void(std::string_view)> log; ///< warnings and reports; silent by default
  std::function<void(std::exception_ptr)>
      on_exception; ///< a task's exception, when the profile says `report`
};

/// What a shutdown left behind.
struct shutdown_report {
  struct running_task {
    worker_id worker;
    std::chrono::nanoseconds since; ///< how long the worker has been busy without a pause
  };
  std::vector<running_task>
      running; ///< tasks that had not ended at the deadline; their threads go on until they do
  /// Who waited for an event, a value and so on at the end, of each kind that somebody waited for.
  std::vector<suspended_in> suspended;
  /// Tasks that were destroyed before their end: those queued and asleep, and, unless tasks still run, those suspended. While
  /// one runs it might wake them: they are destroyed when the last has ended.
  std::uint64_t dropped = 0;

  bool clean() const noexcept { return running.empty() && suspended.empty() && dropped == 0; }
};

/// A pool of workers that knows the machine.
///
///     corewise::engine e;
///     (void)e.submit([] { work(); });
///     e.drain();
///
/// Every member may be called from any thread, and from tasks where it is not said otherwise. In a forked
/// child every call answers `stopping` or does nothing.
class engine {
 public:
  /// Starts the workers that the profile asks for. Machine trouble becomes `warnings()`, or with `strict` an
  /// error. Throws `profile_error`, `topology_error`, `std::system_error`.
  explicit engine(profile p = {}, engine_hooks hooks = {});
  /// `shutdown(destructor_deadline)`, and the log hears what remained.
  ~engine();
  engine(engine&&) = delete;

  static constexpr std::chrono::seconds destructor_deadline{10};

  /// Runs `f()` once on some worker near the caller, or where `wish` says. With `limits.on_full: wait` a
  /// thread from outside waits for room; a task never does (it would deadlock) and is answered `full`. Cost:
  /// no system call while somebody is awake; one when a sleeper is woken. Allocates from recycled blocks. One that is
  /// trivially copyable and captures at most 16 bytes crosses to another core in fewer cache lines than others.
  /// Throws what copying or moving `f` throws, `std::bad_alloc`.
  template <std::invocable F> submit_result submit(F&& f, const hint& wish = no_hint) {
    return accept(make_closure(std::forward<F>(f)), wish, /*may_wait=*/true);
  }
  /// Runs a coroutine as a task. An exception that leaves it is the task's (`on_exception`).
  submit_result submit(task<void> coroutine, const hint& wish = no_hint) {
    return accept(std::move(coroutine).release_to(*runtime_), wish, /*may_wait=*/true);
  }
  /// The same with a deadline in the hint: if it passes before the task has begun, `on_expired()` is called in its place.
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
  /// As `submit`, but never waits.
  template <std::invocable F> submit_result try_submit(F&& f, const hint& wish = no_hint) {
    return accept(make_closure(std::forward<F>(f)), wish, /*may_wait=*/false);
  }

  /// Runs a coroutine as a task, and answers a future of its value. An exception that leaves it is the future's. As
  /// `submit`, it waits for room, and what the engine refuses or drops is `not_run` to the future. Cost: that of `submit`;
  /// two recycled blocks.
  template <class T> future<T> run(task<T> work, const hint& wish = no_hint) {
    using namespace detail;
    auto* const state = new future_state_of<T>;
    settlement<T> end(state);
    future<T> result(state);
    task<> ends = settlement<T>::when_ended(std::move(end), std::move(work));
    accept_work(std::move(ends).release_to(*runtime_), wish, *state);
    return result;
  }
  /// Calls a copy of `f` once, as a task; where that answers a `task<T>`, runs it, and the copy lives until it has ended.
  template <std::invocable F> auto run(F&& f, const hint& wish = no_hint) {
    using result = std::invoke_result_t<std::decay_t<F>&>;
    if constexpr (detail::is_task<result>) {
      return run([](std::decay_t<F> body) -> result { co_return co_await body(); }(std::forward<F>(f)), wish);
    } else {
      using namespace detail;
      auto* const state = new future_state_of<result>;
      settlement<result> end(state);
      future<result> answer(state);
      accept_work(make_closure([end = std::move(end), body = std::forward<F>(f)]() mutable {
                    end.with_result_of(body);
                  }),
                  wish, *state);
      return answer;
    }
  }

  /// `co_await e.schedule(wish)`: the calling coroutine, which this engine runs, goes on as if it were submitted now, where
  /// `wish` says and from there on of that class. Throws `std::logic_error` elsewhere. Cost: that of `submit`, without a
  /// block.
  detail::rescheduling schedule(const hint& wish = no_hint) noexcept { return {*runtime_, wish}; }

  /// Calls `f()` once, as a task that comes from outside, `d` from now or later, never before. Until then `drain` does not
  /// wait for it; a shutdown drops it. While `limits.in_flight` are in flight it waits. The handle, if kept, cancels it;
  /// empty when the engine shuts down. Cost: a lock, and a recycled block for as long as the call is pending or the handle is
  /// kept: the timer, 40 bytes, and who calls, 64, beside `f`; so 128 bytes where `f` has no more than 24. A coroutine that sleeps
  /// has the 40 in its frame. Throws what copying or moving `f` throws, `std::bad_alloc`.
  template <std::invocable F> timer after(std::chrono::nanoseconds d, F&& f) {
    return call_later(detail::scheduled_call<std::decay_t<F>>::make(std::forward<F>(f)), d, {});
  }
  /// The same, until a stop is requested: that cancels it as the handle does, whoever keeps that.
  template <std::invocable F> timer after(std::chrono::nanoseconds d, F&& f, std::stop_token token) {
    return call_until_stop(std::forward<F>(f), std::move(token), d, {});
  }
  /// Calls `f()` as above at every multiple of `period` from now, until the handle cancels it or the engine shuts down.
  /// Times do not drift: each is reckoned from the first. A beat whose time passes while the call before still runs, or for
  /// which the engine has no room, is left out and counted (`timer::skipped`). An exception ends a call, not the beats.
  /// Throws `std::invalid_argument` when the period is not above 0.
  template <std::invocable F> timer every(std::chrono::nanoseconds period, F&& f) {
    check_period(period);
    return call_later(detail::scheduled_call<std::decay_t<F>>::make(std::forward<F>(f)), period, period);
  }
  /// The same, until a stop is requested; a call that runs goes on to its end.
  template <std::invocable F> timer every(std::chrono::nanoseconds period, F&& f, std::stop_token token) {
    check_period(period);
    return call_until_stop(std::forward<F>(f), std::move(token), period, period);
  }

  /// Waits until all that was submitted before the call has ended, and all that those tasks submitted in
  /// turn. Throws `std::logic_error` on a worker of this engine, where it would deadlock.
  void drain();

  /// Accepts nothing from outside any more, runs what is queued until the deadline, then drops the rest, suspended coroutines
  /// among it. Tasks that still run then are answered; their threads end when the tasks do. Later calls answer the same
  /// report. Other threads may wake coroutines meanwhile. Throws `std::logic_error` on a worker of this engine.
  shutdown_report shutdown(std::chrono::nanoseconds deadline);

  /// Goes by another profile from here on, without losing a task; or refuses it as a whole, with the list of what needs a
  /// restart (docs/profile.md says of each key whether it does). Workers take it up one after another, at the end of
  /// their tick. Fewer workers: those that are too many give away what waits for them, finish their task and sleep until
  /// they are called back; their number may grow again to what the engine began with. An engine that shuts down refuses.
  /// Any thread, tasks included; it waits for nobody. Cost: a new policy object, and a wake-up for each sleeper.
  /// Throws `profile_error` with all that is wrong with the profile, `std::bad_alloc`; then nothing has changed.
  apply_result apply(profile p);

  metrics_snapshot metrics() const;
  /// What every worker is doing now. Safe on a live daemon: no worker waits for it.
  engine_dump dump() const;
  /// What the machine could not give, complete when the constructor returns; then the first reports of workers that are
  /// stuck (`blocking.stuck_after`), 32 at most.
  std::vector<std::string> warnings() const;

  /// The profile that holds now.
  profile configuration() const;
  const topology& machine() const noexcept;
  const locality_groups& groups() const noexcept;
  const worker_layout& workers() const noexcept;

  /// Memory on the node of a group, for data that its workers use: pages that lie there, where the machine has several nodes
  /// and gives them (`workers.memory`). Any thread; it lives as long as the engine. Cost: a lock that the group shares,
  /// and a system call where more pages are needed, which come back at the end. Throws `std::out_of_range`; when
  /// allocating, `std::bad_alloc`.
  std::pmr::memory_resource& memory(group_id g) const;

  /// The worker that runs the calling task; nothing outside this engine's tasks, within `blocking`, or after it when a
  /// spare thread has taken the worker's place.
  std::optional<worker_id> this_worker() const noexcept;

 private:
  friend class blocking_scope;
  friend class detail::local_places;
  friend detail::moving_to_engine resume_on(engine& e) noexcept;

  [[gnu::hot]] submit_result accept(task_header* t, const hint& wish, bool may_wait);
  submit_result accept(task_header* t, const hint& wish, task_header* otherwise);
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

/// Runs the task on the engine, waits for it, and answers its value or throws its exception. From threads; on a worker it
/// throws `std::logic_error`, and the task does not run.
template <class T> T sync_wait(engine& on, task<T> work) {
  detail::check_may_wait();
  return on.run(std::move(work)).get();
}

/// Awaits there what `f()` answers, a loop for instance, and answers the same. As above; a plain task does it within `blocking`.
///
///     sync_wait(engine, [&] { return parallel_for(numbers, work); });
template <std::invocable F> auto sync_wait(engine& on, F f) -> decltype(f().await_resume()) {
  using result = decltype(f().await_resume());
  return sync_wait(on, [](F& awaited) -> task<result> { co_return co_await awaited(); }(f));
}

namespace detail {

class worker;

/// For as long as it lives, the calling task does not hold a worker: its seat is lent, and nothing is placed there. A
/// spare thread takes it for good when that lasts; else it is the caller's again.
class blocking_region {
 public:
  blocking_region() noexcept;
  blocking_region(const blocking_region&) = delete;
  blocking_region& operator=(const blocking_region&) = delete;
  ~blocking_region();

 private:
  worker* seat_ = nullptr; // that was lent
  std::uint64_t lending_ = 0;
};

} // namespace detail

/// Calls `f`, which may block (files, locks, waiting), from a task without taking a worker away from the
/// others: when `f` takes longer than about 100 us a spare thread takes the worker's place, and this thread
/// finishes the task beside it. Until `f` has returned the task is on no worker. Elsewhere it just calls `f`.
/// Cost: about 60 ns when `f` is short, else a thread is woken, 5-20 us. Throws what `f` throws.
template <std::invocable F> decltype(auto) blocking(F&& f) {
  const detail::blocking_region region;
  return std::forward<F>(f)();
}

} // namespace corewise
