#include "base/futex.hpp"
#include "base/made_exception.hpp"
#include "runtime/runtime.hpp"
#include "worker/forks.hpp"

#include <corewise/engine/blocking_scope.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <cassert>
#include <optional>
#include <stdexcept>

namespace corewise {

using detail::this_execution;

namespace detail {

// --- a child

/// Begins a run. From here on the scope's waiting task finds the calls that this run forks, in the deque of
/// its worker.
void child_run::begin_away() noexcept {
  away_run& self = away_.emplace();
  self.within = std::exchange(this_execution.within, value_chain(&scope_));
  self.root = std::exchange(this_execution.root, nullptr);
  if (this_execution.seat == nullptr) return;
  self.seat = this_execution.seat;
  self.first = self.seat->queues().forks.next_position();
  const std::scoped_lock lock(scope_.away_mutex_);
  self.next = std::exchange(scope_.away_, &self);
  if (self.next != nullptr) self.next->previous = &self;
}

void child_run::fail(std::exception_ptr error) noexcept {
  if (!scope_.failed_.exchange(true, std::memory_order_relaxed)) scope_.error_ = std::move(error);
  scope_.request_stop();
}

void child_run::drop() noexcept { fail(made_exception<not_run>()); }

bool child_run::end_away() noexcept {
  const away_run& self = *away_;
  this_execution.within = self.within;
  this_execution.root = self.root;
  if (self.seat != nullptr && !scope_.engine_->after_process_fork()) {
    const std::scoped_lock lock(scope_.away_mutex_);
    (self.previous != nullptr ? self.previous->next : scope_.away_) = self.next;
    if (self.next != nullptr) self.next->previous = self.previous;
  }
  detail::atomic<std::uint32_t>& arrived = scope_.arrived_;
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == 0) futex_wake_all(arrived); // pairs: arrived
  return where_ == child_state::submitted;
}

} // namespace detail

// --- the scope

blocking_scope::blocking_scope(engine& on) noexcept : blocking_scope(*on.runtime_) {}
blocking_scope::blocking_scope(std::stop_token token) : blocking_scope() { stop_with(std::move(token)); }
blocking_scope::blocking_scope(engine& on, std::stop_token token) : blocking_scope(on) {
  stop_with(std::move(token));
}

struct blocking_scope::stops {
  struct stopper {
    blocking_scope* scope;
    void operator()() const noexcept { scope->request_stop(); }
  };

  std::stop_source given{std::nostopstate};         // from the first call of `stop_token` on
  std::optional<std::stop_callback<stopper>> outer; // goes first
};

void blocking_scope::stop_with(std::stop_token token) {
  if (!token.stop_possible()) return;
  stops_.reset(detail::recycled<stops>::make());
  stops_->outer.emplace(std::move(token),
                        stops::stopper{this}); // it may be called here, and any time from now on
}
void blocking_scope::end_stops::operator()(stops* s) const noexcept { detail::recycled<stops>::destroy(s); }

std::stop_token blocking_scope::stop_token() {
  const auto lock = lock_away();
  if (!stops_) stops_.reset(detail::recycled<stops>::make());
  std::stop_source& given = stops_->given;
  if (!given.stop_possible()) {
    given = std::stop_source();
    if (stop_requested()) given.request_stop(); // there is no callback yet that it might call
  }
  return given.get_token();
}

/// Locks what children elsewhere use; in the child of a process fork nothing: there are none, and one of the
/// parent's may hold the lock for ever.
std::unique_lock<detail::mutex> blocking_scope::lock_away() {
  if (engine_->after_process_fork()) return {};
  return std::unique_lock(away_mutex_);
}

/// Either this call sees the source, or the thread that makes the source sees the word.
void blocking_scope::request_stop() noexcept {
  stopped_.store(true, std::memory_order_relaxed);
  std::stop_source given = [this] {
    const auto lock = lock_away();
    return stops_ ? stops_->given : std::stop_source(std::nostopstate);
  }();
  given.request_stop();
}

void blocking_scope::refuse() {
  throw std::logic_error("a blocking_scope outside of an engine's tasks needs an engine");
}

/// Ends a scope without `wait`, or with an exception that no `wait` took.
void blocking_scope::end() noexcept {
  const bool passing = std::uncaught_exceptions() > exceptions_;
  if (passing) request_stop();
  join();
  assert((passing || !error_ || engine_->after_process_fork()) &&
         "a blocking_scope ended without wait(), and a child has thrown");
}

/// Pushes the child into the caller's own deque. A thread outside submits it as a task, and so does a worker
/// whose deque cannot grow.
void blocking_scope::start(detail::scope_child& child) {
  detail::worker* const seat = this_execution.engine == engine_ ? this_execution.seat : nullptr;
  if (left_++ == 0) {
    seat_ = seat;
    first_ = seat != nullptr ? seat->queues().forks.next_position() : 0;
  }
  child.put(detail::child_state::away);
  child.phase = this_execution.phase;
  if (seat != nullptr && seat->try_fork(&child)) [[likely]]
    return;
  child.put(detail::child_state::submitted);
  static_cast<void>(engine_->accept(&child, no_hint, /*may_wait=*/true)); // refused: it arrives, dropped
}

void blocking_scope::rethrow() {
  failed_.store(false, std::memory_order_relaxed);
  std::rethrow_exception(std::exchange(error_, nullptr));
}

void blocking_scope::join() noexcept {
  const detail::uncounted_transfers none_counted;
  run_own();
  if (left_ == 0) return;
  if (engine_->after_process_fork()) return abandon();
  if (!help_thieves()) return sleep();
  left_ = 0;
  arrived_.store(0, std::memory_order_relaxed); // no other thread is left to see it
}

/// Gives up, in the child of a process fork, the calls that had not ended at the fork.
void blocking_scope::abandon() noexcept {
  if (!all_have_arrived()) {
    failed_.store(true, std::memory_order_relaxed);
    if (!error_) error_ = detail::made_exception<not_run>();
  }
  left_ = 0;
  arrived_.store(0, std::memory_order_relaxed);
}

void blocking_scope::run_own() noexcept {
  detail::execution& here = this_execution;
  const detail::value_chain within = std::exchange(here.within, detail::value_chain(this));
  detail::coroutine_root* const root = std::exchange(here.root, nullptr);
  while (detail::scope_child* const child = take_own()) {
    child->act(child, task_action::run);
    --left_;
  }
  here.within = within;
  here.root = root;
}

/// Takes the newest child that is still in the caller's own deque. Returns null if there is none. Forks of
/// others may lie among the children, where a coroutine has forked as well: these go behind the ring, in
/// sight of all workers.
detail::scope_child* blocking_scope::take_own() noexcept {
  while (left_ != 0) {
    detail::worker* const seat = this_execution.seat;
    if (seat == nullptr || seat != seat_) break; // it was lent and taken: its new thread runs them
    task_header* const t = seat->queues().forks.pop_since(first_);
    if (t == nullptr) break;
    auto* const child = static_cast<detail::scope_child*>(t);
    if (detail::scope_child::is(t) && child->in == this) {
      child->put(detail::child_state::in_place);
      seat->count_in_place();
      return child;
    }
    seat->push(t);
  }
  return nullptr;
}

/// Runs calls that were forked within stolen ones. Looks for them as long as a worker that has nothing to do.
/// Returns whether all children have arrived.
bool blocking_scope::help_thieves() noexcept {
  detail::monotonic::time_point until{};
  for (;;) {
    if (all_have_arrived()) return true;
    detail::worker* const seat = this_execution.seat;
    if (seat == nullptr || this_execution.engine != engine_) return false;
    if (task_header* t = leapfrog(*seat)) {
      t->act(t, task_action::run);
      until = {};
      continue;
    }
    const auto now = detail::monotonic::now();
    if (until == detail::monotonic::time_point{}) until = now + seat->rules_in_force().settings.idle.spin;
    if (now >= until) return false;
    detail::pause_core();
  }
}

/// Takes the oldest call that was forked within a child that runs elsewhere. Returns null if there is none.
/// While the list is locked that child runs. But its seat may have been lent and taken, and then other tasks
/// fork there: a task that does not belong here is passed on.
task_header* blocking_scope::leapfrog(detail::worker& seat) noexcept {
  task_header* t = nullptr;
  {
    const std::scoped_lock lock(away_mutex_);
    for (const detail::away_run* c = away_; c != nullptr && t == nullptr; c = c->next)
      if (c->seat != &seat) t = detail::steal_fork_since(*c->seat, c->first);
  }
  if (t == nullptr) return nullptr;
  if (is_around(t)) return seat.count_leapfrogged(), t;
  seat.push(t);
  return nullptr;
}

/// Returns the scope whose call made this one, or null.
const blocking_scope* blocking_scope::scope_around() const noexcept {
  detail::value_chain at = around_;
  while (const detail::bound_value* const v = at.value()) at = v->outer;
  return at.scope();
}

/// Returns whether t, which the caller has taken, was forked within this scope, at any depth.
bool blocking_scope::is_around(const task_header* t) const noexcept {
  if (!detail::scope_child::is(t)) return false;
  const blocking_scope* s = static_cast<const detail::scope_child*>(t)->in;
  while (s != nullptr && s != this) s = s->scope_around();
  return s == this;
}

void blocking_scope::sleep() noexcept {
  const detail::blocking_region region;
  const std::uint32_t waited_for = std::exchange(left_, 0);
  std::uint32_t now =
      arrived_.fetch_sub(waited_for, std::memory_order_acq_rel) - waited_for; // pairs: arrived
  while (now != 0) {
    detail::futex_wait(arrived_, now);
    now = arrived_.load(std::memory_order_acquire); // pairs: arrived
  }
}

} // namespace corewise
