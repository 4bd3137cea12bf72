#pragma once

#include "rules/swapped.hpp"

#include <corewise/engine/profile.hpp>
#include <corewise/policies/policy.hpp>
#include <corewise/policies/steal_policy.hpp>

namespace corewise::detail {

/// The rules of an engine that can change while it runs (design.md, D10): immutable, and replaced as a whole.
/// Settings that cannot change are in `shared::settings`. Settings that one thread must not read older than
/// another are in `idle_settings`.
struct rules {
  /// `groups` and `workers` must outlive the rules.
  rules(profile p, const locality_groups& groups, const worker_layout& workers)
      : settings(std::move(p)),
        placing(make_policy(settings.dispatch.policy, groups, workers, weights_of(settings))),
        stealing(make_steal_policy(settings.steal.policy, groups, workers, settings.steal.start)) {}

  profile settings;
  std::unique_ptr<policy> placing;
  std::unique_ptr<steal_policy> stealing;
};

} // namespace corewise::detail
