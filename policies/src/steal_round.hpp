#pragma once

#include <corewise/policies/steal_policy.hpp>

namespace corewise::detail {

/// One thief's way through the machine, on its stack: the part of a stop that all steal policies share.
class steal_round {
 public:
  steal_round(const locality_groups& groups, const load_view& loads, worker_id thief,
              function_ref<bool(const steal_stop&)> try_steal) noexcept
      : groups_(groups),
        loads_(loads),
        thief_(thief),
        home_(loads.layout()[thief].group),
        try_steal_(try_steal) {}

  worker_id thief() const noexcept { return thief_; }
  group_id home() const noexcept { return home_; }
  level level_to(group_id g) const noexcept { return groups_.level_between(home_, g); }

  /// Tasks that wait for the worker at a place of a group; 0 for the thief itself.
  std::uint32_t waiting(group_id g, std::size_t index) const noexcept {
    const std::span<const worker_place> members = loads_.layout().of_group(g);
    if (members[index].id == thief_) return 0;
    const worker_load load = loads_.load(g, index);
    return load.queued + load.slot;
  }

  /// Stops at the worker if at least `least` tasks wait for it.
  bool at_worker(group_id g, std::size_t index, std::uint32_t least = 1) const {
    if (waiting(g, index) < least) return false;
    return try_steal_({g, level_to(g), loads_.layout().of_group(g)[index].id});
  }
  bool at_injection(group_id g) const { return g != home_ && try_steal_({g, level_to(g), std::nullopt}); }
  /// Stops at the injection queues of all other groups, outward.
  bool at_injections() const {
    for (const group_id g : groups_[home_].steal_order)
      if (at_injection(g)) return true;
    return false;
  }

 private:
  const locality_groups& groups_;
  const load_view& loads_;
  worker_id thief_;
  group_id home_;
  function_ref<bool(const steal_stop&)> try_steal_;
};

} // namespace corewise::detail
