#include "idle/wake_ups.hpp"

#include <algorithm>

namespace corewise::detail {

wake_ups::wake_ups(const locality_groups& groups, const worker_layout& layout,
                   std::span<const std::unique_ptr<group_board>> boards, const queued_work& work)
    : idle_rules(groups, layout),
      boards_(boards),
      work_(work),
      retired_(groups, layout, boards, work_),
      searchers_(groups.domains().size()),
      sleepers_(layout, boards),
      still_(std::make_unique<atomic<bool>[]>(groups.domains().size())) {}

void wake_ups::set(const profile& p) noexcept {
  for (std::uint32_t d = 0; d < groups_.domains().size(); ++d) {
    std::uint32_t workers = 0;
    for (const group_id g : groups_.domains()[d]) workers += active_in(g);
    searchers_.set_most(d, searchers_of(workers, p.idle.searchers_per_mille));
  }
  settings_.set(p);
}

// --- the producer

void wake_ups::wake_for_pushed(worker_id w) noexcept {
  const group_id g = layout_[w].group;
  const bool retired = index_in_group(w) >= active_in(g);
  if (retired && wake(g, index_in_group(w)))
    return; // it sends the task away: the others may be busy for ever
  wake_for(w);
}

void wake_ups::notify_pushed(std::uint32_t domain, task_class c) noexcept {
  full_fence();                             // P2
  if (sleepers_.any()) wake_for(domain, c); // P3
}

void wake_ups::notify_longer(group_id g) noexcept {
  if (groups_.domains().size() == 1 || !stealing()) return;
  full_fence(); // P2
  if (any_parked() && !searching(groups_[g].domain)) wake_farther(g);
}

void wake_ups::note_standstill(std::uint32_t domain, bool still) noexcept {
  still_[domain].store(still, std::memory_order_relaxed);
  if (!still) return;
  full_fence(); // P2
  wake_farther(groups_.domains()[domain].front());
}

bool wake_ups::wake(group_id g, std::size_t index) noexcept {
  if (!sleepers_.parked(g).test(index) || !sleepers_.claim(g, index)) return false;
  searchers_.join(groups_[g].domain);
  sleepers_.call(layout_.of_group(g)[index].id);
  return true;
}

/// Returns whether an active worker of g sleeps. The retired workers are the last of their group.
bool wake_ups::can_wake(group_id g) const noexcept { return sleepers_.parked(g).lowest() < active_in(g); }

bool wake_ups::wake_any(group_id g) noexcept {
  while (can_wake(g)) {
    const std::size_t first = sleepers_.first_to_wake(g);
    if (wake(g, first < active_in(g) ? first : sleepers_.parked(g).lowest())) return true;
  }
  return false;
}

bool wake_ups::wake_nearest(group_id g) noexcept {
  return std::ranges::any_of(groups_[g].steal_order, [&](group_id other) { return wake_any(other); });
}

void wake_ups::wake_all() noexcept {
  full_fence(); // with W2: a worker that does not see the change is seen asleep
  for (const locality_group& g : groups_.groups())
    for (std::size_t i = 0; i < layout_.of_group(g.id).size(); ++i) wake(g.id, i);
}

/// Wakes a worker that takes from the injection queue of g, which may be that of the whole engine.
void wake_ups::wake_for_injection(group_id g) noexcept {
  for (const group_id other : groups_[g].steal_order)
    if (work_.share_injection(other, g) && wake_any(other)) return;
}

/// Where all workers of the domain have retired, wakes one of them to send away what waits in its class
/// queues.
bool wake_ups::wake_to_send_away(std::uint32_t domain) noexcept {
  if (!retired_.classes_are_orphaned(domain)) return false;
  return std::ranges::any_of(kinds_[domain].fastest_first, [&](group_id g) { return wake_retired(g); });
}

/// Wakes a sleeper of g, where all workers have retired.
bool wake_ups::wake_retired(group_id g) noexcept {
  const worker_bits& parked = sleepers_.parked(g);
  for (std::size_t i = parked.lowest(); i < parked.size(); i = parked.lowest())
    if (wake(g, i)) return true;
  return false;
}

bool wake_ups::wake_for_driver(group_id g) noexcept {
  return wake_any(g) || (active_in(g) == 0 && wake_retired(g));
}

/// Returns whether an active worker of g was woken and has not come yet.
bool wake_ups::on_its_way(group_id g) const noexcept {
  return std::ranges::any_of(layout_.of_group(g).first(active_in(g)),
                             [&](const worker_place& p) { return sleepers_.is_called(p.id); });
}

// --- the worker

bool wake_ups::work_elsewhere_for(worker_id w) const noexcept {
  const group_id own = layout_[w].group;
  if (work_.injected(own) != 0) return true;
  const std::uint32_t domain = groups_[own].domain;
  if (work_.classes_wait(domain)) return true;
  if (!stealing()) return false;
  return std::ranges::any_of(groups_[own].steal_order, [&](group_id g) {
    return groups_[g].domain == domain ? work_.waits_in(g) : may_find(own, g);
  });
}

void wake_ups::wake_for_all_seen(group_id from) noexcept {
  if (!any_parked()) return;
  if (!stealing()) {
    if (injected(from) != 0) wake_for_injection(from);
    return wake_for_classes(groups_[from].domain);
  }
  for (const group_id g : groups_[from].steal_order) {
    const std::uint32_t domain = groups_[g].domain;
    if (searching(domain)) continue;
    if (!work_in(g) || layout_.of_group(g).empty())
      wake_for_classes(domain);
    else if (!wake_in_domain(layout_.of_group(g).front().id))
      wake_farther(g);
  }
}

// Out of line: a searcher mostly finds no task with a class, and then calls neither.

bool wake_ups::may_steal_class(group_id thief, std::uint32_t domain) const noexcept {
  return idle_rules::may_steal_class(thief, domain);
}

bool wake_ups::leaves_to_better_suited(worker_id w, task_class c, bool last_round, bool& handed) noexcept {
  return idle_rules::leaves_to_better_suited(w, c, last_round, handed);
}

} // namespace corewise::detail
