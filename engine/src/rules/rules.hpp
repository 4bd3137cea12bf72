#pragma once

#include "rules/swapped.hpp"

#include <corewise/engine/profile.hpp>
#include <corewise/policies/policy.hpp>
#include <corewise/policies/steal_policy.hpp>

#include <memory>
#include <span>

namespace corewise::detail {

/// The rules of an engine that can change while it runs (design.md, D10): immutable, and replaced as a whole.
/// Settings that cannot change are in `shared::settings`. Settings that one thread must not read older than
/// another are in `idle_settings`.
struct rules {
  /// `groups` and `workers` must outlive the rules. `speeds`: which part of its capacity each group has, in percent.
  rules(profile p, const locality_groups& groups, const worker_layout& workers,
        std::span<const std::uint32_t> speeds = {})
      : settings(std::move(p)),
        slowed(speeds.empty() ? nullptr : std::make_unique<const locality_groups>(groups.at_speeds(speeds))),
        placing(
            make_policy(settings.dispatch.policy, slowed ? *slowed : groups, workers, weights_of(settings))),
        stealing(make_steal_policy(settings.steal.policy, slowed ? *slowed : groups, workers,
                                   settings.steal.start)) {}

  profile settings;
  std::unique_ptr<const locality_groups>
      slowed; ///< the groups as the policies see them; null: as the engine does
  std::unique_ptr<policy> placing;
  std::unique_ptr<steal_policy> stealing;
};

} // namespace corewise::detail
