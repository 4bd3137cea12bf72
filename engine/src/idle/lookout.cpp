#include "idle/lookout.hpp"

#include <algorithm>

namespace corewise::detail {

namespace {

constexpr std::chrono::nanoseconds slot_look_min = std::chrono::microseconds{50};
constexpr std::chrono::nanoseconds slot_look_max = std::chrono::milliseconds{1};
/// The lookout looks rarely when it has seen no full slot for so long.
constexpr std::chrono::nanoseconds slots_empty_for = std::chrono::milliseconds{100};

} // namespace

std::optional<std::chrono::nanoseconds> lookout::look(monotonic::time_point now) noexcept {
  std::optional<std::chrono::nanoseconds> rest;
  const auto by = [&](std::chrono::nanoseconds other) { rest = std::min(rest.value_or(other), other); };
  if (slots_age() && !wakes_.sleepers().all()) by(look_at_slots(now));
  if (others_help() && !wakes_.sleepers().all()) by(look_at_domains(now));
  if (watches_drivers() && layout_.size() > 1 && !wakes_.sleepers().all()) by(look_at_drivers(now));
  if (rescues()) {
    look_for_lost(now);
    by(lost_.rest(now));
  }
  return rest;
}

// --- domains that stand still

std::chrono::nanoseconds lookout::look_at_domains(monotonic::time_point now) noexcept {
  return standstills_.look(
      now, wakes_.settings().standstill_after(),
      [this](std::uint32_t domain) {
        return standstill_watch::sight{wakes_.work().begun_in(domain), wakes_.work().count_in(domain)};
      },
      [this](std::uint32_t domain, bool still) { wakes_.note_standstill(domain, still); });
}

// --- drivers

std::chrono::nanoseconds lookout::look_at_drivers(monotonic::time_point now) noexcept {
  drivers& all = wakes_.sleepers().drivers();
  return drivers_.look(
      now, wakes_.sleepers().any_for_work(),
      [&](std::uint32_t at) -> std::optional<driver_watch::sight> {
        const group_id g{at};
        if (!all.outstanding(g)) return std::nullopt;
        return driver_watch::sight{all.free(g), all.times_held(g), wakes_.has_sleeper(g)};
      },
      [&](std::uint32_t at, bool far) {
        const group_id g{at};
        if (!far) return static_cast<void>(wakes_.wake_any(g));
        if (wakes_.settings().stealing()) all.note_neglected(g);
        wakes_.wake_nearest(g);
      });
}

// --- slots

/// Returns the time until the next look. Looks early if the thread is awake for another reason, so that it
/// wakes up less often.
std::chrono::nanoseconds lookout::look_at_slots(monotonic::time_point now) noexcept {
  if (now < next_slot_look_ - slot_rest_ / 2) return next_slot_look_ - now;
  if (any_slot_full(now)) {
    slot_full_at_ = now;
    slot_rest_ = slot_rest_ > slot_look_max ? slot_look_min : std::min(slot_rest_ * 2, slot_look_max);
  } else {
    slot_rest_ = now - slot_full_at_ < slots_empty_for ? slot_look_max : slot_look_rare;
  }
  if (!wakes_.sleepers().any_for_work())
    slot_rest_ = slot_look_rare; // it would wait for others' tasks anyway
  next_slot_look_ = now + slot_rest_;
  return slot_rest_;
}

/// Gives tasks that have aged to other workers: to one that sleeps, or where all have work, to the queue at which all
/// look in time. Returns whether any slot was full.
bool lookout::any_slot_full(monotonic::time_point now) noexcept {
  const bool any_sleeps = wakes_.sleepers().any_for_work();
  return slots_.look(now, wakes_.settings().lifo_age(), [&](std::size_t victim, task_header* t) {
    const worker_id w{static_cast<std::uint32_t>(victim)};
    wakes_.sleepers().counts(w).lifo_rescued.fetch_add(1, std::memory_order_relaxed);
    if (!any_sleeps || !wakes_.work().queues()[victim]->in.push(t))
      wakes_.work().injection_of(layout_[w].group).push(t);
    wakes_.notify_pushed(w);
  });
}

// --- lost wake-ups

void lookout::look_for_lost(monotonic::time_point now) noexcept {
  if (!lost_.is_due(now)) return;
  const std::optional<worker_id> w = sleeper_with_work();
  if (!lost_.look(now, w ? std::optional(wakes_.work().begun()) : std::nullopt)) return;
  wakes_.sleepers().counts(*w).rescued.fetch_add(1, std::memory_order_relaxed);
  wakes_.wake_all();
  for (const worker_place& p : layout_.workers()) wakes_.sleepers().nudge(p.id); // its token may be lost
}

/// Returns an active worker that sleeps, or was called and has not come, while work waits that it may take.
/// Cost: a look at all queues, once for each group.
std::optional<worker_id> lookout::sleeper_with_work() const noexcept {
  std::optional<group_id> looked; // everywhere, for one worker of this group
  for (const worker_place& p : layout_.workers()) {
    if (p.id.value - layout_.of_group(p.group).front().id.value >= wakes_.retired().active_in(p.group))
      continue;
    if (!wakes_.sleepers().is_parked(p.id) && !wakes_.sleepers().is_called(p.id)) continue;
    if (wakes_.work().seems_to_wait_at(p.id)) return p.id;
    if (looked != p.group && wakes_.work_elsewhere_for(p.id)) return p.id;
    looked = p.group;
  }
  return std::nullopt;
}

} // namespace corewise::detail
