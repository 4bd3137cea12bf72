#include "worker/due_timers.hpp"

#include "books/sampling.hpp"
#include "worker/shared.hpp"
#include "worker/worker.hpp"

#include <algorithm>
#include <array>

namespace corewise::detail {

namespace {

/// A worker goes back to its tasks after so many timers, whose tasks others may take from it. The rest stays
/// due.
constexpr std::size_t fired_at_once = 256;
/// How long a call that is due waits at least before it asks again for room in the engine, and how long after the call
/// that asks before it. So however many wait, a worker has little to do for them.
constexpr std::int64_t room_interval_ns = 1'000'000;
constexpr std::int64_t between_tries_ns = room_interval_ns / 256;

std::int64_t to_ns(monotonic::time_point t) noexcept { return t.time_since_epoch().count(); }

void note_late(worker& seat, std::int64_t due, std::int64_t now) noexcept {
  seat.counts().timers_late.add(std::chrono::nanoseconds{now - due});
}

/// Sets the deadline to the next beat that is not past. `left_out`: beats that are left out anyway.
void next_beat(scheduled& call, std::int64_t now, std::int64_t left_out) noexcept {
  std::int64_t next = timer_group::later(call.node.deadline_ns, call.period_ns);
  const std::int64_t missed = next > now ? 0 : (now - next) / call.period_ns + 1;
  next = timer_group::later(next, missed * call.period_ns); // no more than now + period
  call.node.deadline_ns = next;
  const std::uint64_t before = call.skipped.load(std::memory_order_relaxed);
  call.skipped.store(before + static_cast<std::uint64_t>(missed + left_out), std::memory_order_relaxed);
}

} // namespace

timer_group::outcome due_timers::set(timer_node& t, std::int64_t now_ns) noexcept {
  using outcome = timer_group::outcome;
  const group_id g{t.group};
  const std::int64_t deadline = t.deadline_ns;
  const outcome it_is = watch_.of(g).set(t, now_ns); // t may be gone
  if (it_is == outcome::earliest) engine_.idle().timer_set(g, deadline);
  return it_is;
}

// --- what is due

void due_timers::fire_due(worker& seat, group_id g, monotonic::time_point now) noexcept {
  std::array<timer_node*, 64> due;
  for (std::size_t left = fired_at_once; left != 0; left -= due.size()) {
    const std::size_t taken = watch_.of(g).take_due(to_ns(now), due);
    for (std::size_t i = 0; i < taken; ++i) fire(seat, g, *due[i], to_ns(now));
    if (taken != due.size()) return;
  }
}

void due_timers::look_elsewhere(worker& seat, group_id own, std::uint64_t turn,
                                monotonic::time_point now) noexcept {
  const std::vector<group_id>& order = engine_.groups()[own].steal_order; // its own is the first
  if (order.size() > 1) look(seat, order[1 + turn % (order.size() - 1)], now);
}

bool due_timers::fire_all_due(worker& seat) noexcept {
  if (!watch_.pending()) return false;
  const auto now = monotonic::now();
  bool any = false;
  for (const group_id g : engine_.groups()[seat.place().group].steal_order) {
    if (to_ns(now) < watch_.of(g).next_ns()) continue;
    fire_due(seat, g, now);
    any = true;
  }
  return any;
}

void due_timers::fire(worker& seat, group_id g, timer_node& t, std::int64_t now) noexcept {
  if (t.submits) return submit_fired(seat, g, static_cast<scheduled&>(*t.task), now);
  auto& coroutine = static_cast<resumption&>(*t.task);
  if (!resumes(t)) return;
  note_late(seat, t.deadline_ns, now);
  note_queued(coroutine, engine_.number());
  if (g == seat.place().group && seat.resumes_here(*coroutine.root)) return seat.push(&coroutine);
  engine_.send_home(&coroutine, *coroutine.root);
}

/// Submits a call as from outside: in the open phase, and not once a shutdown has begun. A call that was made
/// inside a task is that task's child, and while the task lasts nothing refuses it. No limit counts those of daemons.
void due_timers::submit_fired(worker& seat, group_id g, scheduled& call, std::int64_t now) noexcept {
  if (!call.inside) {
    if (!engine_.limit().admit()) return find_no_room(call);
  } else if (call.phase != daemon_phase) {
    engine_.limit().admit_anyway();
  }
  note_late(seat, call.node.again ? call.due_ns : call.node.deadline_ns, now);
  if (!call.inside) call.phase = engine_.drains().open_phase();
  const std::uint8_t phase = call.phase;
  seat.books().submitted[phase].add();
  if (!call.inside && engine_.closed_meanwhile()) {
    call.act(&call, task_action::discard);
    engine_.release_one(phase);
    seat.books().finished[phase].add();
    return engine_.drains().progress();
  }
  note_queued(call, engine_.number());
  if (g == seat.place().group) return seat.push(&call);
  engine_.send_near(&call, g);
}

/// Leaves a beat of `every` out; tries a call of `after` again soon, behind the others that wait for room.
void due_timers::find_no_room(scheduled& call) noexcept {
  const std::int64_t now = to_ns(monotonic::now());
  if (call.period_ns != 0) {
    next_beat(call, now, 1);
  } else {
    if (!std::exchange(call.node.again, true)) call.due_ns = call.node.deadline_ns;
    std::int64_t last = next_try_ns_.load(std::memory_order_relaxed);
    std::int64_t& next = call.node.deadline_ns;
    do next = std::max(last + between_tries_ns, now + room_interval_ns);
    while (!next_try_ns_.compare_exchange_weak(last, next, std::memory_order_relaxed));
  }
  set_again(call, now);
}

void due_timers::set_again(scheduled& call, std::int64_t now) noexcept {
  using outcome = timer_group::outcome;
  const outcome it_is = set(call.node, now);
  if (it_is == outcome::closed || it_is == outcome::stopped) call.abandon();
}

void due_timers::beat_again(scheduled& call) noexcept {
  using progress = scheduled::progress;
  const std::int64_t now = to_ns(monotonic::now());
  next_beat(call, now, 0);
  call.node.state.store(timer_state::idle, std::memory_order_relaxed); // no other thread looks at it now
  progress expected = progress::running;
  if (!call.state.compare_exchange_strong(expected, progress::waiting,
                                          std::memory_order_acq_rel, // pairs: again
                                          std::memory_order_relaxed))
    return call.release(); // cancelled
  set_again(call, now);
}

} // namespace corewise::detail
