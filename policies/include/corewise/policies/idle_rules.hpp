#pragma once

#include <corewise/policies/load_view.hpp>
#include <corewise/policies/task_class.hpp>
#include <corewise/topology/workers.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace corewise {

/// Returns how many workers of a domain may search at once: a share of the workers that take part, rounded up, one at
/// least.
constexpr std::uint32_t searchers_of(std::uint32_t workers, std::uint32_t per_mille) noexcept {
  return std::max(1U, static_cast<std::uint32_t>((std::uint64_t{workers} * per_mille + 999) / 1000));
}

/// Which worker a task wakes, and which worker may take what, without the threads. The engine's workers and
/// the simulator's follow these rules. `Self` derives from it, makes it a friend, and has these functions:
///
///     stealing()            returns whether workers take from each other
///     any_parked()          returns whether a worker sleeps that may be woken for work
///     searching(domain)     returns whether any of the domain's workers search
///     ask_to_look_elsewhere(domain)   asks its searchers to look after other domains as well; returns false
///                           if no worker searches
///     take_request(domain)  takes that request back; returns whether there was one and no worker searches
///     active_in(group)      returns how many of its workers take part
///     can_wake(group)       returns whether a worker of it sleeps that takes part
///     wake(group, index)    wakes that worker; returns false if it does not sleep
///     wake_any(group)       wakes a worker of it; returns false if none sleeps
///     lowest_first()        returns whether the lowest worker is woken first, instead of the one that the
///                           task was sent to
///     waiting_in(domain)    returns how many tasks wait there and may be taken
///     work_in(group)        returns whether any task waits there and may be taken
///     injected(group)       returns how many tasks wait in its injection queue
///     wake_for_injection(group)   wakes a worker that takes from its injection queue
///     least_at(level)       returns how many short tasks must wait in a domain before a worker at that level
///                           takes them (`steal.minimum_at`)
///     task_time_ns(group)   returns how long a task of the group takes on average
///     stands_still(domain)  returns whether its workers have begun nothing for a while though tasks wait
///                           there
///     class_waits(domain, class)  returns whether a task of that class waits there
///     own_work(worker)      returns whether a task waits in its queues
///     work_for(worker)      returns whether a task waits, anywhere, that it may take
///     spins_in(group)       returns whether a worker of it looks for work, and takes part
///     on_its_way(group)     returns whether a worker of it was woken and has not come yet
///     wake_to_send_away(domain)   where no worker of the domain takes part, wakes a worker that sends away
///                           what waits there
///
/// engine/src/idle/wake_ups.hpp gives the reasons.
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
  /// Wakes a worker for a task that was pushed to worker w, or to its group's injection queue.
  [[gnu::hot]] void wake_for(worker_id w) noexcept {
    const group_id g = layout_[w].group;
    if (!self().stealing()) {
      // No other worker would take the task from there.
      if (!self().wake(g, index_in_group(w)) && self().injected(g) != 0) self().wake_for_injection(g);
      return;
    }
    if (!self().any_parked()) return;
    if (self().searching(groups_[g].domain)) return;
    if (!wake_in_domain(w)) wake_farther(g);
  }

  /// Wakes a worker for a task of class c that was pushed to the domain's queue.
  void wake_for(std::uint32_t domain, task_class c) noexcept {
    if (self().stealing() && self().searching(domain)) {
      if (c == task_class::latency && kinds_[domain].unequal) wake_fastest(domain);
      return;
    }
    wake_for_class(domain, c);
  }

  /// Wakes another worker if more work waits. Call it when worker w has found work, as the domain's last
  /// searcher, or where workers do not steal.
  [[gnu::hot]] void wake_for_rest(worker_id w) noexcept {
    const group_id own = layout_[w].group;
    const std::uint32_t domain = groups_[own].domain;
    if (!self().stealing()) {
      // Worker w may have been woken for the injection queue, or for a task with a class, and have found work
      // of its own.
      if (self().injected(own) != 0) self().wake_for_injection(own);
      return wake_for_classes(domain);
    }
    wake_for_rest_of_domain(w);
    if (self().take_request(domain)) wake_for_other_domains(w);
  }

  /// Returns whether worker w, which is about to sleep, sees something to do. `last`: w was the domain's last
  /// searcher, or none searched; else the remaining searchers look after the rest, and w has to ask them to
  /// where there are other domains.
  [[gnu::hot]] bool sees_work(worker_id w, bool last) noexcept {
    const std::uint32_t domain = groups_[layout_[w].group].domain;
    if (!self().stealing()) return self().work_for(w);
    if (!last && (groups_.domains().size() == 1 || self().ask_to_look_elsewhere(domain)))
      return self().own_work(w);
    const bool asked = self().take_request(domain);
    const bool seen = self().work_for(w);
    if (seen && asked) self().ask_to_look_elsewhere(domain); // it may find something else first
    return seen;
  }

  void wake_for_classes(std::uint32_t domain) noexcept {
    for (const task_class c : {task_class::latency, task_class::background})
      if (self().class_waits(domain, c)) wake_for_class(domain, c);
  }

  void wake_for_class(std::uint32_t domain, task_class c) noexcept {
    if (wake_suited(domain, c) || self().wake_to_send_away(domain)) return;
    if (self().stealing()) wake_farther(groups_.domains()[domain].front());
  }

  /// Returns whether worker w, which searches, leaves the waiting tasks of class c in its domain to another
  /// worker that is idle there and suits them better; wakes that worker if it sleeps. `handed`: w has left
  /// them to a worker that was woken since w began to search; set here. `last_round`: w parks if it leaves
  /// them, so it leaves them only to a worker that was woken.
  bool leaves_to_better_suited(worker_id w, task_class c, bool last_round, bool& handed) noexcept {
    if (handed) return true;
    handed = any_better_suited(w, c, [&](group_id g) { return self().wake_any(g) || self().on_its_way(g); });
    if (handed || last_round) return handed;
    return any_better_suited(w, c, [&](group_id g) { return self().spins_in(g); });
  }

  /// Visits the groups of w's domain that suit class c better than w's own, the fastest first, until one
  /// visit returns true. Returns whether one did.
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

  /// Returns whether workers of group `thief` may take the tasks that wait with a class in that domain: no
  /// worker is idle there, and enough tasks wait.
  bool may_steal_class(group_id thief, std::uint32_t domain) const noexcept {
    for (const group_id g : kinds_[domain].fastest_first)
      if (self().can_wake(g) || self().spins_in(g)) return false;
    return may_steal(thief, groups_.domains()[domain].front());
  }

  /// Wakes another worker if more work waits in the domain, for urgent tasks first and for those that can
  /// wait last. Call it when the domain's last searcher, worker w, has found work.
  [[gnu::hot]] void wake_for_rest_of_domain(worker_id w) noexcept {
    const std::uint32_t domain = groups_[layout_[w].group].domain;
    if (self().class_waits(domain, task_class::latency)) return wake_for_class(domain, task_class::latency);
    if (wake_for_normal(w)) return;
    if (self().class_waits(domain, task_class::background)) wake_for_class(domain, task_class::background);
  }

  /// Wakes another worker for each domain where something waits and no worker searches. Call it when the
  /// domain's searchers were asked, and the last one, worker w, has found work.
  void wake_for_other_domains(worker_id w) noexcept {
    const group_id own = layout_[w].group;
    const std::uint32_t domain = groups_[own].domain;
    for (const group_id g : groups_[own].steal_order) {
      const std::uint32_t other = groups_[g].domain;
      if (other == domain || self().searching(other) || !may_find(own, g)) continue;
      self().ask_to_look_elsewhere(domain); // on behalf of the worker that is woken now
      if (wake_in_domain(w)) return;
      wake_farther(g);
    }
  }

  /// Returns whether something waits in group g, or with a class in its domain, that workers of group `thief`
  /// may take.
  bool may_find(group_id thief, group_id g) const noexcept {
    if (self().work_in(g) && may_steal(thief, g)) return true;
    const std::uint32_t domain = groups_[g].domain;
    const bool waits =
        self().class_waits(domain, task_class::latency) || self().class_waits(domain, task_class::background);
    return waits && may_steal_class(thief, domain);
  }

  /// Wakes another worker if more work waits in the domain. Call it when the domain's last searcher, worker
  /// w, has found work. Returns whether more waits.
  [[gnu::hot]] bool wake_for_normal(worker_id w) noexcept {
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
      const std::size_t index = index_in_group(nearest);
      if ((index < self().active_in(own) && self().wake(own, index)) || self().wake_any(own)) return true;
    }
    return std::ranges::any_of(groups_.domains()[groups_[own].domain],
                               [&](group_id g) { return self().wake_any(g); });
  }

  /// Wakes the nearest worker in another domain, if enough waits in this one. If a worker searches there,
  /// asks it instead: it may find something else, and more may wait than one worker takes.
  void wake_farther(group_id from) noexcept {
    std::uint32_t waiting = 0;
    for (const group_id g : groups_[from].steal_order) {
      const level l = groups_.level_between(from, g);
      if (l <= level::same_domain || !self().can_wake(g)) continue;
      if (waiting == 0) waiting = self().waiting_in(groups_[from].domain);
      if (!worth_the_way(waiting, l, groups_[from].domain)) return; // the thresholds grow with distance
      if (self().ask_to_look_elsewhere(groups_[g].domain) || self().wake_any(g)) return;
    }
  }

  /// Returns whether workers of group `thief` may take what waits in group `victim`. Cost outside the own
  /// domain: a look at each worker of the victim's domain.
  bool may_steal(group_id thief, group_id victim) const noexcept {
    const level l = groups_.level_between(thief, victim);
    const std::uint32_t domain = groups_[victim].domain;
    return l <= level::same_domain || worth_the_way(self().waiting_in(domain), l, domain);
  }

  std::size_t index_in_group(worker_id w) const noexcept {
    return w.value - layout_.of_group(layout_[w].group).front().id.value;
  }

  struct domain_kinds {
    std::vector<group_id> fastest_first; ///< the groups with workers
    bool unequal = false;                ///< the groups differ in capacity
  };

  const locality_groups& groups_;
  const worker_layout& layout_;
  std::vector<domain_kinds> kinds_; ///< by domain

 private:
  /// Wakes a worker of the fastest group for `latency`, of the slowest for `background`.
  bool wake_suited(std::uint32_t domain, task_class c) noexcept {
    const std::vector<group_id>& by_speed = kinds_[domain].fastest_first;
    const auto wakes = [&](group_id g) { return self().wake_any(g); };
    if (c == task_class::background) return std::any_of(by_speed.rbegin(), by_speed.rend(), wakes);
    return std::any_of(by_speed.begin(), by_speed.end(), wakes);
  }

  /// Wakes a worker of the fastest kind that takes part in the domain, unless a worker of that kind is
  /// looking for work.
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

  /// Returns whether a worker at that level takes tasks from that domain, where so many wait. `least_at` are enough; fewer
  /// are, if they take as long as so many of `spill_task_time_ns` and all workers of the domain have work; one is, if none
  /// of these workers comes. The time is the longest of its groups, so that a thief and a waker say the same.
  bool worth_the_way(std::uint32_t waiting, level l, std::uint32_t domain) const noexcept {
    const std::uint32_t least = self().least_at(l);
    if (waiting >= least || waiting == 0) return waiting != 0;
    if (self().stands_still(domain) || !any_active(domain)) return true;
    return static_cast<double>(waiting) * static_cast<double>(longest_task_ns(domain)) >=
               static_cast<double>(least) * static_cast<double>(spill_task_time_ns) &&
           !self().searching(domain) &&
           std::ranges::none_of(groups_.domains()[domain], [&](group_id g) { return self().can_wake(g); });
  }

  std::uint64_t longest_task_ns(std::uint32_t domain) const noexcept {
    std::uint64_t longest = 0;
    for (const group_id g : groups_.domains()[domain])
      if (self().active_in(g) != 0) longest = std::max(longest, self().task_time_ns(g));
    return longest;
  }

  bool any_active(std::uint32_t domain) const noexcept {
    return std::ranges::any_of(groups_.domains()[domain],
                               [&](group_id g) { return self().active_in(g) != 0; });
  }

  Self& self() noexcept { return static_cast<Self&>(*this); }
  const Self& self() const noexcept { return static_cast<const Self&>(*this); }
};

} // namespace corewise
