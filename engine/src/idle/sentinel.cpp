#include "base/fence.hpp"
#include "idle/idle.hpp"

#include <algorithm>
#include <limits>
#include <utility>

// What one of those who sleep does for all others: idle.hpp, S1 to T4, and timer_watch.hpp.

namespace corewise::detail {

void idle_workers::watch_slots() noexcept {
  if (!ageing()) return;
  full_fence();                                          // S3
  if (watching_.load(std::memory_order_relaxed)) return; // S4
  const std::uint32_t sentinel = sentinel_.load(std::memory_order_relaxed);
  if (sentinel != nobody) seats_[sentinel].bed.unpark();
}

/// Sleeps as the sentinel. True: until it was claimed; false: it has found work that nobody took, a timer is due, or its
/// time is over.
bool idle_workers::watch(worker_id w) noexcept {
  seat_state& seat = seats_[w.value];
  const worker_bits& parked = boards_[layout_[w].group.value]->parked;
  const park_timeout_setting::mode timeout_kind = timeout().kind; // a change of it wakes the sentinel
  const bool adaptive = timeout_kind == park_timeout_setting::mode::adaptive;
  std::chrono::nanoseconds patience =
      adaptive ? patience_min : fixed_timeout().value_or(std::chrono::hours{1});
  std::chrono::nanoseconds slot_look = slot_look_min;
  auto now = monotonic::now();
  auto deadline = now + patience;
  constexpr auto nothing = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t seen = nothing; // tasks begun when work waited
  for (;;) {
    const bool watching = ageing() && look_at_slots(w);
    const auto timer = until_timer(w);
    if (!timer) return false;
    auto rest = std::min(*timer, std::max(deadline - now, std::chrono::nanoseconds{1}));
    if (watching) rest = std::min(slot_look, rest);
    if (seen != nothing) rest = std::min(pulse, rest);
    const bool token = seat.bed.park(rest);
    timers_.awake();
    const auto before = std::exchange(now, monotonic::now());
    // Who wakes up late was stopped, or had no CPU, and so maybe were those who were about to take the work: that time is none.
    if (seen != nothing) deadline += std::max(now - before - rest, std::chrono::nanoseconds{0});
    if (token) {
      const bool claimed = !parked.test(place_in_group(w), std::memory_order_acquire); // pairs: claim
      if (claimed || stopping_.load(std::memory_order_relaxed)) return true;
      slot_look = slot_look_min; // somebody has used a slot
    } else {
      slot_look = std::min(slot_look * 2, slot_look_max);
    }
    if (now < deadline) continue;
    count(seat.counts.timeouts);
    if (timeout_kind == park_timeout_setting::mode::fixed) return false;
    if (adaptive) {
      const std::optional<std::uint64_t> stalled = stalled_work(w);
      if (stalled && *stalled == seen) {
        count(seat.counts.rescued);
        return false;
      }
      // Work may be seen between its push and its wake-up: whoever pushes may lose its CPU just there for a while.
      patience = stalled ? second_look : std::min(patience * 2, patience_max);
      seen = stalled.value_or(nothing);
    }
    deadline = now + patience;
  }
}

/// Whether to look again soon, because somebody is awake.
bool idle_workers::look_at_slots(worker_id w) noexcept {
  watching_.store(true, std::memory_order_relaxed);
  const std::chrono::nanoseconds age{std::max<std::int64_t>(0, lifo_age_ns_.load(std::memory_order_relaxed))};
  slots_.look(monotonic::now(), age, [&](std::size_t victim, task_header* t) {
    count(seats_[w.value].counts.lifo_rescued);
    const worker_id id{static_cast<std::uint32_t>(victim)};
    if (!queues_[victim]->in.push(t)) injection_[layout_[id].group.value]->push(t);
    pushed(id);
  });
  if (!all_parked()) return true;
  watching_.store(false, std::memory_order_relaxed); // T1
  full_fence();                                      // T2
  const bool watching = !all_parked();               // T3
  if (watching) watching_.store(true, std::memory_order_relaxed);
  return watching;
}

/// How long no timer needs this worker; nothing: one does.
std::optional<std::chrono::nanoseconds> idle_workers::until_timer(worker_id w) noexcept {
  return timers_.plan(
      layout_[w].group, [&](group_id g) { return wake_any(g); },
      [&](group_id g) { return active_in(g) != 0; });
}

void idle_workers::timer_set(group_id g, std::int64_t next_ns) noexcept {
  full_fence(); // I2
  const std::uint32_t sentinel = sentinel_.load(std::memory_order_relaxed);
  if (sentinel != nobody) { // I3
    if (timers_.sleeps_past(next_ns)) seats_[sentinel].bed.unpark();
    return;
  }
  if (!anybody_parked()) return;
  for (const group_id other : groups_[g].steal_order)
    if (wake_any(other)) return;
}

/// Gives the duty up.
void idle_workers::leave_watch() noexcept {
  watching_.store(false, std::memory_order_relaxed);
  sentinel_.store(nobody, std::memory_order_seq_cst); // pairs: duty
}

/// Somebody else who sleeps must take the duty, so it is woken and lies down again.
void idle_workers::hand_watch_over(worker_id w) noexcept {
  full_fence(); // a sleeper that found the duty taken is counted
  if (!anybody_parked() || !(ageing() || timers_.pending())) return;
  if (sentinel_.load(std::memory_order_relaxed) != nobody || stopping_.load(std::memory_order_relaxed))
    return;
  for (const group_id g : groups_[layout_[w].group].steal_order)
    if (wake_any(g)) return void(seats_[w.value].handed_over = true);
}

std::optional<std::uint64_t> idle_workers::stalled_work(worker_id w) const noexcept {
  if (!work_for(w)) return std::nullopt;
  std::uint64_t begun = 0; // whoever takes tasks begins one of them at once
  for (const worker_queues* q : queues_) begun += q->started();
  return begun;
}

} // namespace corewise::detail
