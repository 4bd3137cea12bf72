#pragma once

#include <corewise/engine/detail/execution.hpp>
#include <corewise/engine/detail/lock.hpp>
#include <corewise/engine/detail/recycled.hpp>
#include <corewise/engine/detail/task_header.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

// How a plain task forks calls and waits for them, on its own stack.
//
// Invariant: while the task waits, it runs only calls of its own scope, and calls that these have forked. Any
// other task might wait for a lock which the waiting task holds, and the stack would grow with every task
// that waits in turn.
//
// First the task runs its own calls that are still in its deque, the newest first. Then it runs calls that
// its thieves have forked meanwhile within the stolen calls (*leapfrogging*: the newer forks of a thief are a
// part of what it stole). Then its thread sleeps, within `blocking`, and a spare thread takes the seat.
//
//     deque of the waiting task   [ others' │ own: 1 2 3 4 ]   takes 4 and 3 in place: no atomic counting
//     a thief that took 1         [ others' │ forked within 1: 5 6 ]   the waiting task takes 5
//     a thief that took 2         sleeps in a wait of its own; the waiting task sleeps until 1 and 2 arrive
//
// Children that are away count `arrived_` up. A task that goes to sleep subtracts at once all the children
// that it waits for. So only then an arrival brings `arrived_` to 0, and that child wakes the sleeper.
// Between its arrival and the wake-up a child touches nothing of the scope, which may be gone: it tells the
// kernel the address, no more.
//
// | tag     | release site      | acquire site           | publishes           | weakened              |
// |---------|-------------------|------------------------|---------------------|-----------------------|
// | arrived | child_run::end:   | all_have_arrived:      | what the child did, | half a result is read |
// |         | arrived_, RMW     | load; sleep: RMW, load | and its error       |                       |
//
// Source of leapfrogging: David B. Wagner and Bradley G. Calder, Leapfrogging: A Portable Technique for
// Implementing Efficient Futures, PPoPP 1993, doi:10.1145/155332.155354.

namespace corewise {

class blocking_scope;
class engine;

namespace detail {

class chain_walk;
struct debugger_layouts;

/// Where a child of a scope runs. These are values of `task_header::mark` that no other task in a deque has.
enum class child_state : std::uint8_t {
  away = 128, ///< it is in a deque, or was taken from one
  in_place,   ///< its scope waits and runs it
  submitted,  ///< a thread outside forked it, as a task of its own
};

/// A call that was forked into a scope.
struct scope_child : task_header {
  blocking_scope* in = nullptr;

  child_state where() const noexcept { return static_cast<child_state>(mark); }
  void put(child_state where) noexcept { mark = static_cast<std::uint8_t>(where); }
  /// Returns whether t is such a child. No other thread must be able to take t.
  static bool is(const task_header* t) noexcept {
    return t->mark >= static_cast<std::uint8_t>(child_state::away);
  }
};

/// The data that a run of a child that is away needs.
struct away_run {
  // The scope's mutex guards these: where calls forked within this one go.
  worker* seat = nullptr;
  std::uint64_t first = 0;
  away_run* next = nullptr;
  away_run* previous = nullptr;
  // The state of the thread before this run.
  value_chain within;
  coroutine_root* root = nullptr;
};

/// One run of a child. While it lasts the scope cannot end, and a thread that waits there finds the calls
/// that this one forks.
class child_run {
 public:
  explicit child_run(const scope_child& child) noexcept : scope_(*child.in), where_(child.where()) {
    if (where_ != child_state::in_place) begin_away();
  }
  child_run(const child_run&) = delete;
  child_run& operator=(const child_run&) = delete;
  ~child_run() = default;

  /// Returns whether to call the child: nothing has stopped the scope.
  inline bool wanted() const noexcept;
  /// Notes an exception that left the call. The first one is kept, and stops the scope.
  void fail(std::exception_ptr error) noexcept;
  /// Notes that the child was dropped.
  void drop() noexcept;
  /// Ends the run, when nothing is left of the child. Returns whether a task of its own has ended with it.
  bool end() noexcept { return where_ != child_state::in_place && end_away(); }

 private:
  friend blocking_scope;

  void begin_away() noexcept;
  bool end_away() noexcept;

  blocking_scope& scope_;
  const child_state where_;
  std::optional<away_run> away_;
};

template <class F> struct scope_call final : scope_child {
  template <class G> scope_call(blocking_scope& scope, G&& g) : function(std::forward<G>(g)) {
    act = &perform;
    in = &scope;
  }

  static bool perform(task_header* t, task_action action) {
    if (action == task_action::identify) return this_execution.kind = kind_name<F>(), false;
    auto* const self = static_cast<scope_call*>(t);
    child_run run(*self);
    if (action == task_action::discard)
      run.drop();
    else if (run.wanted())
      call(*self, run);
    recycled<scope_call>::destroy(self);
    return run.end();
  }
  static void call(scope_call& self, child_run& run) noexcept {
    static_assert(result_may_go<F>, "the callable returns a task, which would never run");
    try {
      static_cast<void>(self.function());
    } catch (...) {
      run.fail(std::current_exception());
    }
  }

  F function;
};

} // namespace detail

/// Runs calls at the same time, where workers are free, and ends them all before the scope ends: fork-join
/// for plain tasks, which wait on their own stack. (Coroutines have `when_all` and `in_scope`, which hold no
/// thread while they wait.)
///
///     corewise::blocking_scope s;
///     s.fork([&] { left = sum(begin, middle); });
///     right = sum(middle, end);
///     s.wait();
///
/// The task that makes the scope forks and waits; a forked call may make scopes of its own, at any depth. In
/// a task the calls are part of the task, and count as that task on any worker that runs them. From a thread
/// that is no worker of the engine each call is a task of its own. In a coroutine, make and leave the scope
/// between two awaits. While a task waits it runs only calls that belong to the scope, so it may hold locks
/// of which the other tasks know nothing. When no such call is left its thread sleeps within `blocking`.
/// Source of the waiting: Wagner and Calder, Leapfrogging, PPoPP 1993.
class blocking_scope {
 public:
  /// Makes a scope in a task of an engine, for calls on that engine. Throws `std::logic_error` elsewhere.
  blocking_scope() : blocking_scope(engine_here()) {}
  /// Makes a scope for calls on `on`, which must outlive it. Call from any thread.
  explicit blocking_scope(engine& on) noexcept;
  /// Acts as above; telling `token` to stop stops the scope, as `request_stop` does. Scopes within that are
  /// given the same token are stopped with it. Cost: a recycled block, and a lock of the stop state here and
  /// in the destructor. Throws `std::bad_alloc`.
  explicit blocking_scope(std::stop_token token);
  blocking_scope(engine& on, std::stop_token token);
  blocking_scope(const blocking_scope&) = delete;
  blocking_scope& operator=(const blocking_scope&) = delete;
  /// Waits for all calls. An exception of a call is lost then; builds with assertions notice it. While an
  /// exception passes through, the scope is stopped, and exceptions of its calls are ignored.
  ~blocking_scope() {
    if (left_ != 0 || failed_.load(std::memory_order_relaxed)) [[unlikely]]
      end();
  }

  /// Calls a copy of `f` once, here in `wait` or before that on another worker. An exception that leaves `f`
  /// stops the scope. If the engine refuses the call, or drops it when the engine ends, or in the child of a
  /// process fork, `wait` throws `not_run`. Cost in a task: a recycled block and two fences; no locked
  /// instruction unless another worker takes the call. Throws what copying or moving `f` throws,
  /// `std::bad_alloc`.
  template <std::invocable F> void fork(F&& f) {
    start(*detail::recycled<detail::scope_call<std::decay_t<F>>>::make(*this, std::forward<F>(f)));
  }

  /// Waits until all calls have ended. Throws the first exception. More calls may be forked afterwards,
  /// unless the scope was stopped. Cost: that of the calls that it runs itself. For a call that another
  /// worker still has: up to `idle.spin` of looking for calls that are forked there, then that of `blocking`.
  void wait() {
    join();
    if (failed_.load(std::memory_order_relaxed)) [[unlikely]]
      rethrow();
  }

  /// Returns whether the scope was stopped: by an exception, by `request_stop` or by its token. Calls that
  /// have not begun by then are not begun, and running calls may look here. Scopes within are not told. Call
  /// from any thread.
  bool stop_requested() const noexcept { return stopped_.load(std::memory_order_relaxed); }
  /// Returns the stop as a token, for things that its calls wait for, and for scopes within. Call from any
  /// thread, until the scope ends. Cost: the first time a recycled block and a stop state. Throws
  /// `std::bad_alloc`.
  std::stop_token stop_token();
  /// Stops the scope. Call from any thread. Cost: a lock.
  void request_stop() noexcept;

 private:
  friend detail::child_run;
  friend detail::chain_walk;
  friend detail::debugger_layouts;

  struct stops; // the tokens; apart, since most scopes have none
  struct end_stops {
    void operator()(stops* s) const noexcept;
  };

  explicit blocking_scope(runtime& on) noexcept
      : engine_(&on),
        around_(chain_here()),
        exceptions_(std::uncaught_exceptions()) {}

  /// Returns the chain of the values that the calling task has bound.
  static detail::value_chain chain_here() noexcept {
    const detail::execution& here = detail::this_execution;
    if (here.root != nullptr) [[unlikely]]
      return chain_of(*here.root);
    return here.within;
  }
  [[gnu::cold]] static detail::value_chain chain_of(const detail::coroutine_root& maker) noexcept;
  static runtime& engine_here() {
    runtime* const here = detail::this_execution.engine;
    if (here == nullptr) [[unlikely]]
      refuse();
    return *here;
  }
  [[noreturn]] static void refuse();
  void stop_with(std::stop_token token);
  void end() noexcept;
  [[noreturn]] void rethrow();
  void start(detail::scope_child& child);
  void join() noexcept;
  void abandon() noexcept;
  void run_own() noexcept;
  std::unique_lock<detail::mutex> lock_away();
  detail::scope_child* take_own() noexcept;
  bool help_thieves() noexcept;
  task_header* leapfrog(detail::worker& seat) noexcept;
  void sleep() noexcept;
  const blocking_scope* scope_around() const noexcept;
  bool is_around(const task_header* t) const noexcept;
  bool all_have_arrived() const noexcept {
    return arrived_.load(std::memory_order_acquire) == left_; // pairs: arrived
  }

  runtime* const engine_;
  const detail::value_chain around_; // the scope whose call made this one, and values bound meanwhile
  detail::worker* seat_ = nullptr;   // the seat on which it forks, from position `first_` of the deque on
  std::uint64_t first_ = 0;
  std::uint32_t left_ = 0; // calls that were forked and not run here
  const int exceptions_;   // in flight when it was made
  detail::atomic<std::uint32_t> arrived_{
      0};                               // of these; modulo 2^32, and less `left_` while its thread sleeps
  detail::atomic<bool> stopped_{false}; // relaxed: a word by itself
  detail::atomic<bool> failed_{false};  // relaxed: its setter writes the error, which the arrival publishes
  std::exception_ptr error_;
  detail::mutex away_mutex_;
  detail::away_run* away_ = nullptr;        // children that run elsewhere; guarded by away_mutex_
  std::unique_ptr<stops, end_stops> stops_; // guarded by it as well. The last: its end may use the others
};

inline bool detail::child_run::wanted() const noexcept { return !scope_.stop_requested(); }

} // namespace corewise
