#include "idle/sentinel.hpp"

#include "base/fence.hpp"
#include "idle/lost_wakes.hpp"

#include <algorithm>
#include <utility>

namespace corewise::detail {

namespace {

constexpr std::chrono::nanoseconds slot_look_min = std::chrono::microseconds{50};
constexpr std::chrono::nanoseconds slot_look_max = std::chrono::milliseconds{1};
constexpr std::chrono::nanoseconds longest_rest = std::chrono::hours{1};

} // namespace

sentinel::sentinel(const locality_groups& groups, const worker_layout& layout, wake_ups& wakes,
                   timer_watch& timers)
    : groups_(groups),
      layout_(layout),
      wakes_(wakes),
      timers_(timers),
      slots_(wakes.work().queues()),
      marks_(std::make_unique<mark[]>(layout.size())) {}

bool sentinel::take_duties(worker_id w) noexcept {
  std::uint32_t expected = nobody;
  return has_duties() &&
         holder_.compare_exchange_strong(expected, w.value, std::memory_order_seq_cst); // pairs: duty
}

void sentinel::sleep(worker_id w) noexcept {
  watch(w);
  slots_.end();
  holder_.store(nobody, std::memory_order_seq_cst); // pairs: duty
}

/// Wakes another sleeper, which must lie down again to take the duties.
void sentinel::hand_over(worker_id w) noexcept {
  full_fence(); // a sleeper that found the duties taken is counted
  if (!wakes_.sleepers().any_for_work() || !(wakes_.settings().slots_age() || timers_.pending())) return;
  if (holder_.load(std::memory_order_relaxed) != nobody || wakes_.sleepers().ended()) return;
  for (const group_id g : groups_[layout_[w].group].steal_order)
    if (wakes_.wake_any(g)) return void(marks_[w.value].handed_over = true); // D1
}

/// Does what the duties ask for, and sleeps in between.
void sentinel::watch(worker_id w) noexcept {
  sleepers& beds = wakes_.sleepers();
  const idle_settings& settings = wakes_.settings();
  const auto timeout = settings.park_timeout(); // a change of it wakes the sentinel
  const bool adaptive = timeout == idle_settings::timeout_kind::adaptive;
  const auto patience =
      adaptive ? lost_wake_watch::patience_min : settings.fixed_timeout().value_or(longest_rest);
  std::chrono::nanoseconds slot_look = slot_look_min;
  auto now = monotonic::now();
  lost_wake_watch lost(now, patience);
  for (;;) {
    const bool watching = settings.slots_age() && look_at_slots(w);
    const auto timer = until_timer(w);
    if (!timer) return;
    auto rest = std::min(*timer, lost.rest(now));
    if (watching) rest = std::min(slot_look, rest);
    const bool token = beds.sleep(w, rest);
    timers_.awake();
    const auto before = std::exchange(now, monotonic::now());
    lost.note_sleep(before, rest, now);
    if (token) {
      const bool claimed = !beds.is_parked(w, std::memory_order_acquire); // pairs: claim
      if (claimed || beds.ended()) return;
      slot_look = slot_look_min; // a worker has used its slot
    } else {
      slot_look = std::min(slot_look * 2, slot_look_max);
    }
    if (!lost.due(now)) continue;
    sleepers::count(beds.counts(w).timeouts);
    if (timeout == idle_settings::timeout_kind::fixed) return;
    if (!adaptive) {
      lost = lost_wake_watch(now, patience);
    } else if (lost.look(now, wakes_.work_for(w) ? std::optional(wakes_.work().begun()) : std::nullopt)) {
      sleepers::count(beds.counts(w).rescued);
      return; // this worker takes it
    }
  }
}

// --- slots

void sentinel::watch_slots() noexcept {
  if (!wakes_.settings().slots_age() || slots_.watches()) return;
  const std::uint32_t holder = holder_.load(std::memory_order_relaxed);
  if (holder != nobody) wakes_.sleepers().nudge(worker_id{holder}); // S4
}

/// Returns whether to look again soon, because a worker is awake.
bool sentinel::look_at_slots(worker_id w) noexcept {
  slots_.begin();
  slots_.look(monotonic::now(), wakes_.settings().lifo_age(), [&](std::size_t victim, task_header* t) {
    sleepers::count(wakes_.sleepers().counts(w).lifo_rescued);
    const worker_id id{static_cast<std::uint32_t>(victim)};
    if (!wakes_.work().queues()[victim]->in.push(t)) wakes_.work().injection_of(layout_[id].group).push(t);
    wakes_.notify_pushed(id);
  });
  return slots_.must_go_on([&] { return wakes_.sleepers().all(); });
}

// --- timers

/// Returns how long no timer needs this worker, or nothing if one does.
std::optional<std::chrono::nanoseconds> sentinel::until_timer(worker_id w) noexcept {
  return timers_.plan(
      layout_[w].group, [&](group_id g) { return wakes_.wake_any(g); },
      [&](group_id g) { return wakes_.retired().active_in(g) != 0; });
}

void sentinel::timer_set(group_id g, std::int64_t next_ns) noexcept {
  full_fence(); // I2
  const std::uint32_t holder = holder_.load(std::memory_order_relaxed);
  if (holder != nobody) { // I3
    if (timers_.sleeps_past(next_ns)) wakes_.sleepers().nudge(worker_id{holder});
    return;
  }
  if (!wakes_.sleepers().any_for_work()) return;
  for (const group_id other : groups_[g].steal_order)
    if (wakes_.wake_any(other)) return;
}

} // namespace corewise::detail
