#include "runtime/runtime.hpp"

#include <corewise/engine/blocking_full.hpp>
#include <corewise/engine/detail/blocking_limit.hpp>

namespace corewise::detail {

[[gnu::always_inline]] inline void lent_seat::lend(worker* own) noexcept {
  if (own == nullptr || own->engine().after_process_fork()) return;
  seat = own;
  lending = own->lend();
}

[[gnu::always_inline]] inline void lent_seat::regain() const noexcept {
  if (seat != nullptr && !seat->engine().after_process_fork()) seat->regain(lending);
}

blocking_region::blocking_region() noexcept { lent_.lend(this_execution.seat); }

blocking_region::~blocking_region() { lent_.regain(); }

blocking_limit* blocking_limit::here() noexcept {
  runtime* const engine = this_execution.engine;
  if (engine == nullptr) return nullptr;
  blocking_limit& limit = engine->blocking_calls();
  return !limit.limits() || engine->after_process_fork() || is_unlimited() ? nullptr : &limit;
}

bool call_permit::try_pass(const waiter& /*w*/) noexcept {
  limit = blocking_limit::here();
  if (limit == nullptr || limit->try_take()) return true;
  if (this_execution.root != nullptr) return false;
  const blocking_region region; // no engine runs the coroutine: it cannot leave its thread
  limit->wait();
  return true;
}

/// Where there is no limit, a worker's call pays one look for it. A thread without a seat may be in a call
/// already; `begin_in_place` finds that out.
blocking_turn::blocking_turn() {
  worker* const seat = this_execution.seat;
  if (seat == nullptr || seat->engine().blocking_calls().limits()) [[unlikely]]
    begin_in_place();
  else
    lent_.lend(seat);
}

[[gnu::noinline, gnu::cold]] void blocking_turn::begin_in_place() {
  blocking_limit* const limit = blocking_limit::here();
  const bool waits = limit != nullptr && !limit->try_take_or_throw();
  if (limit != nullptr) set_unlimited(true);
  limit_ = limit;
  lent_.lend(this_execution.seat);
  if (!waits || limit->wait_or_be_refused()) return;
  lent_.regain();
  set_unlimited(false);
  throw blocking_full();
}

blocking_turn::blocking_turn(blocking_limit* taken) noexcept : limit_(taken) {
  if (taken != nullptr) set_unlimited(true);
  lent_.lend(this_execution.seat);
}

blocking_turn::~blocking_turn() {
  if (limit_ == nullptr) [[likely]]
    lent_.regain();
  else
    end_in_place();
}

[[gnu::noinline, gnu::cold]] void blocking_turn::end_in_place() const noexcept {
  lent_.regain();
  set_unlimited(false);
  limit_->give();
}

} // namespace corewise::detail
