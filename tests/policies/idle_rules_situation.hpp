#pragma once

#include "made_machine.hpp"

#include <corewise/policies/idle_rules.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

// A machine for the tests of the idle rules. It only writes down which worker it is told to wake.

namespace corewise::tests {

/// Three packages of two caches each, with a fast and a slow kind of two cores under each cache: twelve
/// groups of two workers in six domains. From the first package the third is nearer than the second.
inline topology three_packages() {
  made_machine made;
  made.capacities = {512, full_capacity};
  for (std::uint32_t i = 0; i < 24; ++i)
    made.cores.push_back({std::to_string(i), i / 8, i / 8, i / 4, i % 4 < 2 ? 1U : 0U});
  made.distances = {{10, 30, 20}, {30, 10, 30}, {20, 30, 10}};
  return build(made);
}

/// Holds what the rules are told, and records which workers they wake. A sleeper that is woken sleeps no
/// longer.
class sleepers : public idle_rules<sleepers> {
  friend idle_rules<sleepers>;

 public:
  sleepers(const locality_groups& groups, const worker_layout& layout)
      : idle_rules(groups, layout),
        active(groups.size(), 2),
        injected_in(groups.size(), 0),
        searchers(groups.domains().size(), 0),
        waiting(groups.domains().size(), 0),
        background(groups.domains().size(), false),
        task_time(groups.size(), 1000) {}

  using idle_rules::may_steal;
  using idle_rules::sees_work;
  using idle_rules::wake_for;
  using idle_rules::wake_for_normal;
  using idle_rules::wake_for_rest;

  void sleep(std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t w = first; w <= last; ++w) asleep.insert(w);
  }
  /// The worker that wakes when a task is pushed to w; nothing if no worker wakes.
  std::optional<std::uint32_t> woken_by(std::uint32_t w) {
    woken.reset();
    wake_for(worker_id{w});
    return woken;
  }
  /// The workers that wake task by task, until no worker wakes up. A woken worker no longer searches when the
  /// next task comes.
  std::vector<std::uint32_t> all_woken_by(std::uint32_t w) {
    std::vector<std::uint32_t> order;
    while (const auto next = woken_by(w)) order.push_back(*next);
    return order;
  }

  /// All workers that wake when worker w finds work as its domain's last searcher.
  std::vector<std::uint32_t> woken_when_found(std::uint32_t w) {
    std::vector<std::uint32_t> order;
    looked_at.clear();
    all_woken = &order;
    wake_for_rest(worker_id{w});
    all_woken = nullptr;
    return order;
  }

  bool steals = true;
  bool lowest = false;
  bool leave_when_asked = false; // the searchers leave when they are asked
  bool woken_search = false;     // a woken worker counts as a searcher
  std::vector<std::uint32_t>* all_woken = nullptr;
  std::set<std::uint32_t> asleep;
  std::vector<std::uint32_t> active;         // by group
  std::vector<std::uint32_t> injected_in;    // by group
  std::vector<std::uint32_t> searchers;      // by domain
  std::vector<std::uint32_t> waiting;        // by domain
  std::vector<bool> background;              // by domain: whether such a task waits
  std::vector<std::uint64_t> task_time;      // by group, in ns
  std::set<std::uint32_t> asked;             // domains
  std::set<std::uint32_t> still;             // domains
  std::set<std::uint32_t> spinning;          // groups
  mutable std::set<std::uint32_t> looked_at; // domains, for work
  std::optional<std::uint32_t> woken;
  std::optional<std::uint32_t> woken_for_injection; // a group

 private:
  bool stealing() const noexcept { return steals; }
  bool any_parked() const noexcept { return !asleep.empty(); }
  bool searching(std::uint32_t domain) const noexcept { return searchers[domain] != 0; }
  bool ask_to_look_elsewhere(std::uint32_t domain) {
    asked.insert(domain);
    if (leave_when_asked) searchers[domain] = 0;
    return searching(domain);
  }
  bool take_request(std::uint32_t domain) { return !searching(domain) && asked.erase(domain) != 0; }
  std::uint32_t active_in(group_id g) const noexcept { return active[g.value]; }
  bool can_wake(group_id g) const noexcept {
    return asleep.contains(2 * g.value) && active[g.value] > 0
               ? true
               : asleep.contains(2 * g.value + 1) && active[g.value] > 1;
  }
  bool wake(group_id g, std::size_t index) noexcept {
    const std::uint32_t w = 2 * g.value + static_cast<std::uint32_t>(index);
    if (asleep.erase(w) == 0) return false;
    if (woken_search) ++searchers[groups_[g].domain];
    if (all_woken != nullptr) {
      all_woken->push_back(w);
      return true;
    }
    CHECK(!woken); // one at a time
    woken = w;
    return true;
  }
  bool wake_any(group_id g) noexcept {
    if (!can_wake(g)) return false;
    return wake(g, 0) || wake(g, 1);
  }
  bool lowest_first() const noexcept { return lowest; }
  std::uint32_t waiting_in(std::uint32_t domain) const noexcept {
    return waiting[domain] + (background[domain] ? 1 : 0);
  }
  bool work_in(group_id g) const {
    looked_at.insert(groups_[g].domain);
    return waiting[groups_[g].domain] != 0;
  }
  bool class_waits(std::uint32_t domain, task_class c) const noexcept {
    return c == task_class::background && background[domain];
  }
  bool spins_in(group_id g) const noexcept { return spinning.contains(g.value); }
  static bool wake_to_send_away(std::uint32_t) noexcept { return false; }
  bool own_work(worker_id) const {
    looked_at.insert(own_queues);
    return false;
  }
  bool work_for(worker_id) const {
    looked_at.insert(everywhere);
    return std::ranges::any_of(waiting, [](std::uint32_t n) { return n != 0; });
  }
  std::uint32_t injected(group_id g) const noexcept { return injected_in[g.value]; }
  void wake_for_injection(group_id g) noexcept { woken_for_injection = g.value; }
  static std::uint32_t least_at(level l) noexcept { // 3 in the node, 5 in the package, 7 elsewhere
    return 2 * static_cast<std::uint32_t>(l) - 1;
  }
  std::uint64_t task_time_ns(group_id g) const noexcept { return task_time[g.value]; }
  bool stands_still(std::uint32_t domain) const noexcept { return still.contains(domain); }

 public:
  static constexpr std::uint32_t own_queues = 100; // in `looked_at`
  static constexpr std::uint32_t everywhere = 101;
};

inline constexpr std::uint32_t on_node = 3;   // least_at(level::same_node)
inline constexpr std::uint32_t elsewhere = 7; // least_at(level::cross_package)
inline constexpr std::uint32_t last_worker = 23;

struct rules_situation {
  topology machine = three_packages();
  locality_groups groups{machine, {}};
  worker_layout layout{machine, groups, {}};
  sleepers rules{groups, layout};

  rules_situation() {
    REQUIRE(groups.size() == 12);
    REQUIRE(groups.domains().size() == 6);
    REQUIRE(layout.size() == last_worker + 1);
    REQUIRE(groups.level_between({0}, {1}) == level::same_domain);
    REQUIRE(groups.level_between({0}, {2}) == level::same_node);
    REQUIRE(groups.level_between({0}, {4}) == level::cross_package);
  }
};

} // namespace corewise::tests
