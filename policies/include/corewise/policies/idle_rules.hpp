#pragma once

#include <corewise/topology/workers.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace corewise {

/// How many workers of a domain may search at once: a share of those who take part, rounded up, one at least.
constexpr std::uint32_t searchers_of(std::uint32_t workers, std::uint32_t per_mille) noexcept {
  return std::max(1U, static_cast<std::uint32_t>((std::uint64_t{workers} * per_mille + 999) / 1000));
}

/// Whom work wakes, and who may take what, without the threads: the engine's workers and those of the simulator go by this.
/// `Self` derives from it, makes it a friend, and answers
///
///     stealing()            whether workers take from each other
///     anybody_parked()      whether somebody sleeps who may be woken for work
///     searching(domain)     how many of the domain's workers search
///     active_in(group)      how many of its workers take part
///     can_wake(group)       whether somebody of it sleeps who takes part
///     wake(group, place)    wakes that worker; false: it does not sleep
///     wake_any(group)       wakes somebody of it
///     lowest_first()        whether the lowest worker is woken first, instead of the one that the task was sent to
///     waiting_in(domain)    tasks that wait there and may be taken
///     work_in(group)        whether anything does
///     injected(group)       what waits in its injection queue
///     wake_for_injection(group)
///     least_at(level)       tasks that must wait in a domain for somebody at that level to take them
///     between_steps()       nothing, or a place where tests let others come between
///
/// engine/src/runtime/idle.hpp says why it is so.
template <class Self> class idle_rules {
  friend Self;

  idle_rules(const locality_groups& groups, const worker_layout& layout) noexcept
      : groups_(groups),
        layout_(layout) {}

 protected:
  /// A task was pushed to worker w, or to its group's injection queue.
  void announce(worker_id w) noexcept {
    const group_id g = layout_[w].group;
    if (!self().stealing()) {
      // Nobody else would take it from there.
      if (!self().wake(g, place_in_group(w)) && self().injected(g) != 0) self().wake_for_injection(g);
      return;
    }
    if (!self().anybody_parked()) return;
    self().between_steps();
    if (self().searching(groups_[g].domain) != 0) return;
    self().between_steps();
    if (!wake_in_domain(w)) wake_farther(g);
  }

  /// The domain's last searcher, worker w, has found work: if more waits there, somebody else is woken.
  bool pass_search_on(worker_id w) noexcept {
    const group_id own = layout_[w].group;
    for (const group_id g : groups_.domains()[groups_[own].domain]) {
      if (!self().work_in(g)) continue;
      if (!wake_in_domain(w)) wake_farther(own);
      return true;
    }
    return false;
  }

  bool wake_in_domain(worker_id nearest) noexcept {
    const group_id own = layout_[nearest].group;
    if (!self().lowest_first()) {
      const std::size_t place = place_in_group(nearest);
      if ((place < self().active_in(own) && self().wake(own, place)) || self().wake_any(own)) return true;
    }
    return std::ranges::any_of(groups_.domains()[groups_[own].domain],
                               [&](group_id g) { return self().wake_any(g); });
  }

  /// The nearest one in another domain, if enough waits in this one.
  void wake_farther(group_id from) noexcept {
    std::uint32_t waiting = 0;
    for (const group_id g : groups_[from].steal_order) {
      const level l = groups_.level_between(from, g);
      if (l <= level::same_domain || !self().can_wake(g)) continue;
      if (waiting == 0) waiting = self().waiting_in(groups_[from].domain);
      if (waiting < threshold(l, from)) return; // the thresholds grow with distance
      if (self().searching(groups_[g].domain) != 0) return;
      if (self().wake_any(g)) return;
    }
  }

  /// Whether workers of group `thief` may take what waits in group `victim`. Cost outside the own domain: a look at each
  /// worker of the victim's domain.
  bool may_steal(group_id thief, group_id victim) const noexcept {
    const level l = groups_.level_between(thief, victim);
    return l <= level::same_domain || self().waiting_in(groups_[victim].domain) >= threshold(l, victim);
  }

  std::size_t place_in_group(worker_id w) const noexcept {
    return w.value - layout_.of_group(layout_[w].group).front().id.value;
  }

  const locality_groups& groups_;
  const worker_layout& layout_;

 private:
  /// How many tasks must wait in the domain of `victim` for somebody at that level to take them.
  std::uint32_t threshold(level l, group_id victim) const noexcept {
    const auto& domain = groups_.domains()[groups_[victim].domain];
    const bool nobody = std::ranges::all_of(domain, [&](group_id g) { return self().active_in(g) == 0; });
    return nobody ? 1 : self().least_at(l); // nobody else comes
  }

  Self& self() noexcept { return static_cast<Self&>(*this); }
  const Self& self() const noexcept { return static_cast<const Self&>(*this); }
};

} // namespace corewise
