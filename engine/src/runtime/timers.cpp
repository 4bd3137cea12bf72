#include "runtime/runtime.hpp"

#include <corewise/engine/deadline.hpp>
#include <corewise/engine/timer.hpp>
#include <corewise/policies/origin.hpp>

#include <functional>
#include <stdexcept>
#include <thread>

// An engine's timers: who sets and cancels them, and what becomes of those that are due.

namespace corewise {

using detail::this_execution;

namespace {

/// A worker goes back to its tasks after so many, which others may take from it; the rest is due still.
constexpr std::size_t fired_at_once = 256;
/// So long a call that is due waits for room in the engine.
constexpr std::int64_t room_interval_ns = 1'000'000;

std::int64_t to_ns(detail::monotonic::time_point t) noexcept { return t.time_since_epoch().count(); }

/// `from + by`, or the end of time.
std::int64_t later(std::int64_t from, std::int64_t by) noexcept {
  return by > detail::timer_group::never - from ? detail::timer_group::never : from + by;
}

} // namespace

// --- setting and cancelling

group_id runtime::group_here() const noexcept {
  const detail::execution& here = this_execution;
  if (here.engine == this && here.seat != nullptr) return here.seat->place().group;
  if (machine_.is_this_system())
    if (const auto cpu = this_cpu())
      if (const auto origin = origin_from_cpu(groups_, *cpu)) return origin->group;
  const std::size_t mixed = std::hash<std::thread::id>{}(std::this_thread::get_id());
  return {static_cast<std::uint32_t>(mixed % groups_.size())};
}

group_id runtime::timer_home(const detail::resumption& place) const noexcept {
  const detail::worker* seat = this_execution.seat != nullptr ? this_execution.seat : place.root->last;
  return seat != nullptr ? seat->place().group : timer_home();
}

detail::timer_group::outcome runtime::set_timer(detail::timer_node& t, std::int64_t now_ns) noexcept {
  using outcome = detail::timer_group::outcome;
  const group_id g{t.group};
  const std::int64_t deadline = t.deadline_ns;
  const outcome it_is = timers_->of(g).set(t, now_ns); // t may be gone
  if (it_is == outcome::earliest) idle_->timer_set(g, deadline);
  return it_is;
}

bool runtime::cancel_timer(detail::timer_node& t) noexcept {
  return !forked() && timers_->of({t.group}).cancel(t);
}

timer runtime::call_later(detail::scheduled* call, std::chrono::nanoseconds first,
                          std::chrono::nanoseconds period, detail::scheduled::on_set before) {
  using outcome = detail::timer_group::outcome;
  timer handle(call, weak_from_this());
  const std::int64_t now = to_ns(detail::monotonic::now());
  call->engine = this;
  call->period_ns = period.count();
  call->node.deadline_ns = later(now, std::max<std::int64_t>(0, first.count()));
  call->phase = this_execution.phase; // of its task, when it is inside one
  // pairs: stage
  if (!forked() && (call->inside ? !ended() : stage_.load(std::memory_order_acquire) == stage::open)) {
    call->node.group = timer_home().value;
    if (before != nullptr) before(*call, weak_from_this());
    const outcome it_is = set_timer(call->node, now);
    if (it_is == outcome::stopped) call->release();
    if (it_is != outcome::closed) return handle;
  }
  call->abandon();
  return {};
}

// --- what is due

void runtime::fire_due(detail::worker& seat, group_id g, detail::monotonic::time_point now) noexcept {
  std::array<detail::timer_node*, 64> due;
  for (std::size_t left = fired_at_once; left != 0; left -= due.size()) {
    const std::size_t taken = timers_->of(g).take_due(to_ns(now), due);
    for (std::size_t i = 0; i < taken; ++i) fire(seat, g, *due[i]);
    if (taken != due.size()) return;
  }
}

bool runtime::fire_all_due(detail::worker& seat) noexcept {
  if (!timers_->pending()) return false;
  const auto now = detail::monotonic::now();
  bool any = false;
  for (const group_id g : groups_[seat.place().group].steal_order) {
    if (to_ns(now) < timers_->of(g).next_ns()) continue;
    fire_due(seat, g, now);
    any = true;
  }
  return any;
}

void runtime::fire(detail::worker& seat, group_id g, detail::timer_node& t) noexcept {
  if (t.submits) return submit_fired(seat, g, static_cast<detail::scheduled&>(*t.task));
  auto& place = static_cast<detail::resumption&>(*t.task);
  if (g == seat.place().group && seat.takes_back(place)) return seat.push(&place);
  send_on(&place, *place.root);
}

/// A call comes in as from outside: into the open phase, and not once a shutdown has begun. One that is inside a task is
/// that one's child, and while there is such a task nothing refuses it.
void runtime::submit_fired(detail::worker& seat, group_id g, detail::scheduled& call) noexcept {
  if (call.inside)
    limit_.enter_anyway();
  else if (!limit_.enter())
    return find_no_room(call);
  if (!call.inside) call.phase = drains_.open_phase();
  const std::uint8_t phase = call.phase;
  seat.books().submitted[phase].add();
  if (!call.inside && closed_meanwhile()) {
    call.act(&call, task_action::discard);
    seat.books().finished[phase].add();
    limit_.release();
    return drains_.progress();
  }
  if (g == seat.place().group) return seat.push(&call);
  send_near(&call, g);
}

/// A beat is left out; another call is tried again soon.
void runtime::find_no_room(detail::scheduled& call) noexcept {
  const std::int64_t now = to_ns(detail::monotonic::now());
  if (call.period_ns == 0)
    call.node.deadline_ns = now + room_interval_ns;
  else
    next_beat(call, now, 1);
  set_again(call, now);
}

/// The next beat that is not past, after `left_out` beats that are left out anyway.
void runtime::next_beat(detail::scheduled& call, std::int64_t now, std::int64_t left_out) noexcept {
  std::int64_t next = later(call.node.deadline_ns, call.period_ns);
  const std::int64_t missed = next > now ? 0 : (now - next) / call.period_ns + 1;
  next = later(next, missed * call.period_ns); // no more than now + period
  call.node.deadline_ns = next;
  const std::uint64_t before = call.skipped.load(std::memory_order_relaxed);
  call.skipped.store(before + static_cast<std::uint64_t>(missed + left_out), std::memory_order_relaxed);
}

void runtime::set_again(detail::scheduled& call, std::int64_t now) noexcept {
  using outcome = detail::timer_group::outcome;
  const outcome it_is = set_timer(call.node, now);
  if (it_is == outcome::closed || it_is == outcome::stopped) call.abandon();
}

void runtime::beat_again(detail::scheduled& call) noexcept {
  using progress = detail::scheduled::progress;
  const std::int64_t now = to_ns(detail::monotonic::now());
  next_beat(call, now, 0);
  call.node.state.store(detail::timer_state::idle, std::memory_order_relaxed); // nobody else looks at it now
  progress expected = progress::running;
  if (!call.state.compare_exchange_strong(expected, progress::waiting,
                                          std::memory_order_acq_rel, // pairs: again
                                          std::memory_order_relaxed))
    return call.release(); // cancelled
  set_again(call, now);
}

void detail::scheduled::end() noexcept {
  if (period_ns != 0) return engine->beat_again(*this);
  state.store(progress::ended, std::memory_order_relaxed);
  release();
}

// --- handles

bool timer::cancel() noexcept { return call_ != nullptr && detail::cancel(*call_, engine_); }

bool detail::cancel(scheduled& call, const std::weak_ptr<runtime>& of) noexcept {
  using progress = scheduled::progress;
  const std::shared_ptr<runtime> engine = of.lock();
  if (engine == nullptr || engine->forked()) return false;
  progress seen = call.state.load(std::memory_order_relaxed);
  do {
    if (seen == progress::cancelled || seen == progress::ended) return false;
    if (seen == progress::running && call.period_ns == 0) return false;
  } while (!call.state.compare_exchange_weak(seen, progress::cancelled,
                                             std::memory_order_acq_rel, // pairs: again
                                             std::memory_order_relaxed));
  if (seen == progress::waiting && engine->cancel_timer(call.node)) call.release();
  return true;
}

detail::stop_timer::stop_timer(std::chrono::nanoseconds d, std::stop_source source) {
  if (this_execution.root == nullptr)
    throw std::logic_error(
        "with_deadline outside of an engine's coroutines: there is nobody to keep the time");
  auto stop = [source = std::move(source)]() mutable { source.request_stop(); };
  scheduled* const call = scheduled_call<decltype(stop)>::make(std::move(stop));
  call->inside = true;
  timer_ = this_execution.root->engine->call_later(call, d, {});
}

timer engine::call_later(detail::scheduled* call, std::chrono::nanoseconds first,
                         std::chrono::nanoseconds period, detail::scheduled::on_set before) {
  return runtime_->call_later(call, first, period, before);
}

} // namespace corewise
