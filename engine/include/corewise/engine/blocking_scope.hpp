#pragma once

#include <corewise/engine/detail/execution.hpp>
#include <corewise/engine/detail/recycled.hpp>
#include <corewise/engine/detail/task_header.hpp>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <type_traits>
#include <typeinfo>
#include <utility>

// How a plain task forks calls and waits for them, on its own stack.
//
// While it waits it runs what is left of them in its deque, the newest first; then what those who took some have forked
// meanwhile within them (*leapfrogging*: a thief's newer forks are a part of what it was robbed of); then its thread sleeps,
// within `blocking`, and a spare thread takes the seat. It never runs what does not belong to its scope: that might wait
// for a lock which the waiting task holds, and the stack would grow with every task that waits in turn.
//
//     deque of the waiting task     [ others' │ own: 1 2 3 4 ]   takes 4 and 3, in place: nothing is counted atomically
//     a thief that took 1           [ others' │ forked within 1: 5 6 ]   the waiting task takes 5
//     a thief that took 2           sleeps in a wait of its own      then it sleeps as well, until 1 and 2 have arrived
//
// Children that are away count `arrived_` up. Who goes to sleep takes all that it waits for off that at once; so only then
// an arrival brings it to 0, and that one wakes the sleeper. Between its arrival and the wake-up a child touches nothing of
// the scope, which may be gone: the kernel is told the address, no more.
//
// | tag     | release site                    | acquire site                             | publishes                         | weakened              |
// |---------|---------------------------------|------------------------------------------|-----------------------------------|-----------------------|
// | arrived | child_run::leave: arrived_, RMW | all_have_arrived: load; sleep: RMW, load | what the child did, and its error | half a result is read |
//
// Source of leapfrogging: David B. Wagner and Bradley G. Calder, Leapfrogging: A Portable Technique for Implementing Efficient
// Futures, PPoPP 1993, doi:10.1145/155332.155354.

namespace corewise {

class blocking_scope;
class engine;

namespace detail {

/// Where a scope's child is run. Values of `task_header::mark` that no other task in a deque has.
enum class child_place : std::uint8_t {
  away = 128, ///< it is in some deque, or was taken from one
  in_place,   ///< its scope waits and runs it
  submitted,  ///< it came in from outside, as a task of its own
};

/// A call that was forked into a scope.
struct scope_child : task_header {
  blocking_scope* in = nullptr;

  child_place where() const noexcept { return static_cast<child_place>(mark); }
  void put(child_place where) noexcept { mark = static_cast<std::uint8_t>(where); }
  /// Whether t, which nobody else can take, is one.
  static bool is(const task_header* t) noexcept {
    return t->mark >= static_cast<std::uint8_t>(child_place::away);
  }
};

/// One run of a child: while it lasts the scope can be left by nobody, and who waits there finds what is forked within.
class child_run {
 public:
  explicit child_run(const scope_child& child) noexcept : scope_(*child.in), where_(child.where()) {
    if (where_ != child_place::in_place) enter();
  }
  child_run(const child_run&) = delete;
  child_run& operator=(const child_run&) = delete;
  ~child_run() = default;

  /// Whether it should be called: nothing has stopped the scope.
  inline bool wanted() const noexcept;
  /// What left it as an exception stops the scope; the first is kept.
  void fail(std::exception_ptr error) noexcept;
  /// It was dropped.
  void drop() noexcept;
  /// Its end, when nothing is left of the child. Answers whether with it a task of its own has ended.
  bool leave() noexcept { return where_ != child_place::in_place && leave_away(); }

 private:
  friend blocking_scope;

  void enter() noexcept;
  bool leave_away() noexcept;

  blocking_scope& scope_;
  const child_place where_;
  // The rest is of one that is away. Guarded by the scope's mutex: where what is forked within it goes.
  worker* seat_ = nullptr;
  std::uint64_t first_ = 0;
  child_run* next_ = nullptr;
  child_run* previous_ = nullptr;
  // What the thread was doing.
  blocking_scope* within_ = nullptr;
  coroutine_root* root_ = nullptr;
};

template <class F> struct scope_call final : scope_child {
  template <class G> scope_call(blocking_scope& scope, G&& g) : function(std::forward<G>(g)) {
    act = &perform;
    in = &scope;
  }

  static bool perform(task_header* t, task_action action) {
    if (action == task_action::identify) return this_execution.kind = typeid(F).name(), false;
    auto* const self = static_cast<scope_call*>(t);
    child_run run(*self);
    if (action == task_action::discard)
      run.drop();
    else if (run.wanted())
      call(*self, run);
    recycled<scope_call>::destroy(self);
    return run.leave();
  }
  static void call(scope_call& self, child_run& run) noexcept {
    try {
      static_cast<void>(self.function());
    } catch (...) {
      run.fail(std::current_exception());
    }
  }

  F function;
};

} // namespace detail

/// Calls that run at the same time, where workers are free, and have all ended when the scope is left: fork-join for plain
/// tasks, which wait on their own stack. (Coroutines have `when_all` and `in_scope`, which hold no thread while they wait.)
///
///     corewise::blocking_scope s;
///     s.fork([&] { left = sum(begin, middle); });
///     right = sum(middle, end);
///     s.wait();
///
/// Who made it forks and waits; what is forked may make scopes of its own, at any depth. In a task the calls are part of the
/// task, and on whatever worker they run they count as it. From a thread that is no worker of the engine each is a task of
/// its own. In a coroutine it is made and left between two awaits. While a task waits it runs only what belongs to the
/// scope, so it may hold locks that the others know nothing of; with none of that left its thread sleeps within `blocking`.
/// Source of the waiting: Wagner and Calder, Leapfrogging, PPoPP 1993.
class blocking_scope {
 public:
  /// In a task of an engine, for calls on that engine. Throws `std::logic_error` elsewhere.
  blocking_scope() : blocking_scope(engine_here()) {}
  /// For calls on `on`, which must outlive it. Any thread.
  explicit blocking_scope(engine& on) noexcept;
  /// As above, and stopped when `token` is told to stop, as by `request_stop`. Scopes within that are given the same token are
  /// stopped with it. Cost: a recycled block, and a lock of the stop state here and in the destructor. Throws `std::bad_alloc`.
  explicit blocking_scope(std::stop_token token);
  blocking_scope(engine& on, std::stop_token token);
  blocking_scope(const blocking_scope&) = delete;
  blocking_scope& operator=(const blocking_scope&) = delete;
  /// Waits. A call's exception is lost then: builds with assertions notice when there is one. While an exception passes through,
  /// the scope is stopped, and what its calls throw is of no interest.
  ~blocking_scope() {
    if (left_ != 0 || failed_.load(std::memory_order_relaxed)) [[unlikely]]
      leave();
  }

  /// Calls a copy of `f` once, here in `wait` or on another worker before. What leaves it as an exception stops the scope. An
  /// engine that refuses it, or drops it when it ends, makes `wait` throw `not_run`. Cost in a task: a recycled block and two
  /// fences; no locked instruction unless another worker takes it. Throws what copying or moving `f` throws,
  /// `std::bad_alloc`.
  template <std::invocable F> void fork(F&& f) {
    start(*detail::recycled<detail::scope_call<std::decay_t<F>>>::make(*this, std::forward<F>(f)));
  }

  /// Returns when all have ended; throws what was thrown first. More may be forked afterwards, unless it was stopped. Cost:
  /// that of the calls that it runs itself; for one that another worker still has, up to `idle.spin` of looking for what is
  /// forked there, then that of `blocking`.
  void wait() {
    join();
    if (failed_.load(std::memory_order_relaxed)) [[unlikely]]
      rethrow();
  }

  /// Whether it was stopped: by an exception, by `request_stop` or by its token. Calls that have not begun then are not begun,
  /// those that run may look here. Scopes within are not told. Any thread.
  bool stop_requested() const noexcept { return stopped_.load(std::memory_order_relaxed); }
  /// The same as a token, for what its calls wait for, and for scopes within. Any thread, until the scope is left. Cost: the first
  /// time a recycled block and a stop state. Throws `std::bad_alloc`.
  std::stop_token stop_token();
  /// Stops it. Any thread. Cost: a lock.
  void request_stop() noexcept;

 private:
  friend detail::child_run;

  struct stops; // the tokens, out of sight of those who have none
  struct end_stops {
    void operator()(stops* s) const noexcept;
  };

  explicit blocking_scope(runtime& on) noexcept
      : engine_(&on),
        around_(detail::this_execution.within),
        exceptions_(std::uncaught_exceptions()) {}

  static runtime& engine_here() {
    runtime* const here = detail::this_execution.engine;
    if (here == nullptr) [[unlikely]]
      refuse();
    return *here;
  }
  [[noreturn]] static void refuse();
  void stop_with(std::stop_token token);
  void leave() noexcept;
  [[noreturn]] void rethrow();
  void start(detail::scope_child& child);
  void join() noexcept;
  void run_own() noexcept;
  detail::scope_child* take_own() noexcept;
  bool help_thieves() noexcept;
  task_header* leapfrog(detail::worker& seat) noexcept;
  void sleep() noexcept;
  bool is_around(const task_header* t) const noexcept;
  bool all_have_arrived() const noexcept {
    return arrived_.load(std::memory_order_acquire) == left_; // pairs: arrived
  }

  runtime* const engine_;
  blocking_scope* const around_;   // in whose call it was made
  detail::worker* seat_ = nullptr; // on which it forks, from the place `first_` of the deque on
  std::uint64_t first_ = 0;
  std::uint32_t left_ = 0;                // forked and not run here
  const int exceptions_;                  // in flight when it was made
  std::atomic<std::uint32_t> arrived_{0}; // of those; modulo 2^32, and less `left_` while its thread sleeps
  std::atomic<bool> stopped_{false};      // relaxed: a word by itself
  std::atomic<bool> failed_{false}; // relaxed: who sets it writes the error, which the arrival publishes
  std::exception_ptr error_;
  std::mutex away_mutex_;
  detail::child_run* away_ = nullptr;       // those that run elsewhere; guarded by away_mutex_
  std::unique_ptr<stops, end_stops> stops_; // guarded by it as well. The last: its end may use the others
};

inline bool detail::child_run::wanted() const noexcept { return !scope_.stop_requested(); }

} // namespace corewise
