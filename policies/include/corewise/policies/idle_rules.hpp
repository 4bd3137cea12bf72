#pragma once

#include <corewise/policies/task_class.hpp>
#include <corewise/topology/workers.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

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
///     searching(domain)     whether any of the domain's workers search
///     ask(domain)           asks them to look after other domains as well; false: nobody searches
///     was_asked(domain)     whether they were asked and nobody searches any more; then nobody is asked any more
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
///     class_waits(domain, class)  whether a task of that class waits there
///     own_work(worker)      whether something waits in its queues
///     work_for(worker)      whether something waits, anywhere, that it may take
///     spins_in(group)       whether somebody of it looks for work, and takes part
///     on_its_way(group)     whether somebody of it was woken and has not come yet
///     wake_to_hand_over(domain)   where nobody of the domain takes part, wakes somebody who hands over what waits there
///     between_steps()       nothing, or a place where tests let others come between
///
/// engine/src/runtime/idle.hpp says why it is so.
template <class Self> class idle_rules {
  friend Self;

  idle_rules(const locality_groups& groups, const worker_layout& layout) : groups_(groups), layout_(layout) {
    const auto capacity = [&](group_id g) { return groups[g].capacity; };
    for (const std::vector<group_id>& domain : groups.domains()) {
      domain_kinds& kinds = kinds_.emplace_back();
      for (const group_id g : domain)
        if (!layout.of_group(g).empty()) kinds.fastest_first.push_back(g);
      std::ranges::stable_sort(kinds.fastest_first, std::ranges::greater{}, capacity);
      kinds.unequal = !kinds.fastest_first.empty() &&
                      capacity(kinds.fastest_first.front()) != capacity(kinds.fastest_first.back());
    }
  }

 protected:
  /// A task was pushed to worker w, or to its group's injection queue.
  [[gnu::hot]] void announce(worker_id w) noexcept {
    const group_id g = layout_[w].group;
    if (!self().stealing()) {
      // Nobody else would take it from there.
      if (!self().wake(g, place_in_group(w)) && self().injected(g) != 0) self().wake_for_injection(g);
      return;
    }
    if (!self().anybody_parked()) return;
    self().between_steps();
    if (self().searching(groups_[g].domain)) return;
    self().between_steps();
    if (!wake_in_domain(w)) wake_farther(g);
  }

  /// A task of class c was pushed to the domain's queue.
  void announce(std::uint32_t domain, task_class c) noexcept {
    if (self().stealing() && self().searching(domain)) {
      if (c == task_class::latency && kinds_[domain].unequal) wake_fastest(domain);
      return;
    }
    wake_for_class(domain, c);
  }

  /// Worker w has found work, as the domain's last searcher, or where nobody steals: if more waits, somebody else is woken.
  [[gnu::hot]] void pass_on_rest(worker_id w) noexcept {
    const group_id own = layout_[w].group;
    const std::uint32_t domain = groups_[own].domain;
    if (!self().stealing()) {
      // It may have been woken for the injection queue, or for a task with a class, and have found work of its own.
      if (self().injected(own) != 0) self().wake_for_injection(own);
      return pass_classes_on(domain);
    }
    pass_domain_on(w);
    if (self().was_asked(domain)) pass_others_on(w);
  }

  /// Whether worker w, which lies down, sees something to do. `last`: it was the domain's last searcher, or none; else those
  /// who are left look after the rest, and have to be asked to where there are other domains.
  [[gnu::hot]] bool stays(worker_id w, bool last) noexcept {
    const std::uint32_t domain = groups_[layout_[w].group].domain;
    if (!self().stealing()) return self().work_for(w);
    if (!last && (groups_.domains().size() == 1 || self().ask(domain))) return self().own_work(w);
    const bool asked = self().was_asked(domain);
    const bool seen = self().work_for(w);
    if (seen && asked) self().ask(domain); // it may find something else first
    return seen;
  }

  void pass_classes_on(std::uint32_t domain) noexcept {
    for (const task_class c : {task_class::latency, task_class::background})
      if (self().class_waits(domain, c)) wake_for_class(domain, c);
  }

  void wake_for_class(std::uint32_t domain, task_class c) noexcept {
    if (wake_suited(domain, c) || self().wake_to_hand_over(domain)) return;
    if (self().stealing()) wake_farther(groups_.domains()[domain].front());
  }

  /// Whether worker w, which searches, leaves what waits of class c in its domain to another that is idle there and suits
  /// it better; wakes that one if it sleeps. `handed`: it has left it to one that was woken, since it began to search; set
  /// here. `last_round`: it will park if it leaves it, so it leaves it only to such a one.
  bool leave(worker_id w, task_class c, bool last_round, bool& handed) noexcept {
    if (handed) return true;
    handed = any_better_suited(w, c, [&](group_id g) { return self().wake_any(g) || self().on_its_way(g); });
    if (handed || last_round) return handed;
    return any_better_suited(w, c, [&](group_id g) { return self().spins_in(g); });
  }

  /// Visits the groups of w's domain that suit class c better than w's own, the fastest first, until one answers true;
  /// answers whether one did.
  template <class Visit>
  bool any_better_suited(worker_id w, task_class c, const Visit& visit) const noexcept {
    const locality_group& own = groups_[layout_[w].group];
    const domain_kinds& kinds = kinds_[own.domain];
    if (!kinds.unequal) return false;
    return std::ranges::any_of(kinds.fastest_first, [&](group_id g) {
      const bool better =
          c == task_class::latency ? groups_[g].capacity > own.capacity : groups_[g].capacity < own.capacity;
      return better && visit(g);
    });
  }

  /// Whether workers of group `thief` may take what waits with a class in that domain: nobody is idle there, and enough
  /// waits.
  bool may_steal_class(group_id thief, std::uint32_t domain) const noexcept {
    for (const group_id g : kinds_[domain].fastest_first)
      if (self().can_wake(g) || self().spins_in(g)) return false;
    return may_steal(thief, groups_.domains()[domain].front());
  }

  /// The domain's last searcher, worker w, has found work: if more waits there, somebody else is woken for what is urgent
  /// first, and last for what can wait.
  [[gnu::hot]] void pass_domain_on(worker_id w) noexcept {
    const std::uint32_t domain = groups_[layout_[w].group].domain;
    if (self().class_waits(domain, task_class::latency)) return wake_for_class(domain, task_class::latency);
    if (pass_search_on(w)) return;
    if (self().class_waits(domain, task_class::background)) wake_for_class(domain, task_class::background);
  }

  /// The domain's searchers were asked, and the last one, worker w, has found work: if something waits in a domain where
  /// nobody searches, somebody else is woken for it.
  void pass_others_on(worker_id w) noexcept {
    const group_id own = layout_[w].group;
    const std::uint32_t domain = groups_[own].domain;
    for (const group_id g : groups_[own].steal_order) {
      const std::uint32_t other = groups_[g].domain;
      if (other == domain || self().searching(other) || !may_find(own, g)) continue;
      self().ask(domain); // of who is woken now
      if (wake_in_domain(w)) return;
      wake_farther(g);
    }
  }

  /// Whether something waits in group g, or with a class in its domain, that workers of group `thief` may take.
  bool may_find(group_id thief, group_id g) const noexcept {
    if (self().work_in(g) && may_steal(thief, g)) return true;
    const std::uint32_t domain = groups_[g].domain;
    const bool waits =
        self().class_waits(domain, task_class::latency) || self().class_waits(domain, task_class::background);
    return waits && may_steal_class(thief, domain);
  }

  /// The domain's last searcher, worker w, has found work: if more waits there, somebody else is woken.
  [[gnu::hot]] bool pass_search_on(worker_id w) noexcept {
    const group_id own = layout_[w].group;
    for (const group_id g : groups_.domains()[groups_[own].domain]) {
      if (!self().work_in(g)) continue;
      if (!wake_in_domain(w)) wake_farther(own);
      return true;
    }
    return false;
  }

  [[gnu::hot]] bool wake_in_domain(worker_id nearest) noexcept {
    const group_id own = layout_[nearest].group;
    if (!self().lowest_first()) {
      const std::size_t place = place_in_group(nearest);
      if ((place < self().active_in(own) && self().wake(own, place)) || self().wake_any(own)) return true;
    }
    return std::ranges::any_of(groups_.domains()[groups_[own].domain],
                               [&](group_id g) { return self().wake_any(g); });
  }

  /// The nearest one in another domain, if enough waits in this one. Who searches there may find something else, and more may
  /// wait than one takes: so they are asked.
  void wake_farther(group_id from) noexcept {
    std::uint32_t waiting = 0;
    for (const group_id g : groups_[from].steal_order) {
      const level l = groups_.level_between(from, g);
      if (l <= level::same_domain || !self().can_wake(g)) continue;
      if (waiting == 0) waiting = self().waiting_in(groups_[from].domain);
      if (waiting < threshold(l, from)) return; // the thresholds grow with distance
      if (self().ask(groups_[g].domain) || self().wake_any(g)) return;
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

  struct domain_kinds {
    std::vector<group_id> fastest_first; ///< those with workers
    bool unequal = false;                ///< they differ in capacity
  };

  const locality_groups& groups_;
  const worker_layout& layout_;
  std::vector<domain_kinds> kinds_; ///< by domain

 private:
  /// The fastest for `latency`, the slowest for `background`.
  bool wake_suited(std::uint32_t domain, task_class c) noexcept {
    const std::vector<group_id>& by_speed = kinds_[domain].fastest_first;
    const auto wakes = [&](group_id g) { return self().wake_any(g); };
    if (c == task_class::background) return std::any_of(by_speed.rbegin(), by_speed.rend(), wakes);
    return std::any_of(by_speed.begin(), by_speed.end(), wakes);
  }

  /// Somebody of the domain's fastest kind that takes part, unless one of them is looking for work.
  void wake_fastest(std::uint32_t domain) noexcept {
    const std::vector<group_id>& by_speed = kinds_[domain].fastest_first;
    const auto fastest = std::ranges::find_if(by_speed, [&](group_id g) { return self().active_in(g) != 0; });
    if (fastest == by_speed.end()) return;
    const auto as_fast = [&](group_id g) { return groups_[g].capacity == groups_[*fastest].capacity; };
    for (const group_id g : by_speed)
      if (as_fast(g) && self().spins_in(g)) return;
    for (const group_id g : by_speed)
      if (as_fast(g) && self().wake_any(g)) return;
  }

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
