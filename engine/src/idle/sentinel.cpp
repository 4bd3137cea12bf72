#include "idle/sentinel.hpp"

#include "base/fence.hpp"

#include <algorithm>
#include <utility>

namespace corewise::detail {

namespace {

constexpr std::chrono::nanoseconds longest_rest = std::chrono::hours{1};
/// The longest time between two looks while there is no supervisor.
constexpr std::chrono::nanoseconds longest_blind = std::chrono::seconds{1};

} // namespace

sentinel::sentinel(const locality_groups& groups, const worker_layout& layout, wake_ups& wakes,
                   timer_watch& timers)
    : groups_(groups),
      layout_(layout),
      wakes_(wakes),
      timers_(timers),
      lookout_(layout, wakes),
      marks_(std::make_unique<mark[]>(layout.size())) {}

bool sentinel::take_duties(worker_id w) noexcept {
  std::uint32_t expected = no_worker;
  return has_duties() &&
         holder_.compare_exchange_strong(expected, w.value, std::memory_order_seq_cst); // pairs: duty
}

void sentinel::sleep(worker_id w) noexcept {
  watch(w);
  holder_.store(no_worker, std::memory_order_seq_cst); // pairs: duty
}

/// Wakes another sleeper, which must lie down again to take the duties.
void sentinel::hand_over(worker_id w) noexcept {
  full_fence(); // a sleeper that found the duties taken is counted
  if (!wakes_.sleepers().any_for_work() || !has_duties()) return;
  if (holder_.load(std::memory_order_relaxed) != no_worker || wakes_.sleepers().ended()) return;
  for (const group_id g : groups_[layout_[w].group].steal_order)
    if (wakes_.wake_any(g)) return void(marks_[w.value].handed_over = true); // D1
}

/// Does what the duties ask for, and sleeps in between.
void sentinel::watch(worker_id w) noexcept {
  sleepers& beds = wakes_.sleepers();
  const auto fixed = wakes_.settings().fixed_timeout(); // a change of it wakes the sentinel
  auto now = monotonic::now();
  const auto deadline = now + fixed.value_or(longest_rest);
  for (; now < deadline; now = monotonic::now()) {
    const auto look = looks() ? lookout_.look(now).value_or(longest_blind) : longest_rest;
    const auto timer = until_timer(w);
    if (!timer) return;
    const auto woken = beds.sleep(w, std::min({*timer, look, deadline - now}));
    timers_.awake();
    if (!beds.found(w).empty()) return;
    const bool claimed =
        woken == sleepers::woken::by_token && !beds.is_parked(w, std::memory_order_acquire); // pairs: claim
    if (claimed || beds.ended()) return;
  }
  if (fixed) add_own(beds.counts(w).timeouts, 1);
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
  if (holder != no_worker) { // I3
    if (timers_.sleeps_past(next_ns)) wakes_.sleepers().nudge(worker_id{holder});
    return;
  }
  if (!wakes_.sleepers().any_for_work()) return;
  wakes_.wake_nearest(g);
}

} // namespace corewise::detail
