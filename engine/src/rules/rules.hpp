#pragma once

#include "rules/swapped.hpp"

#include <corewise/engine/profile.hpp>

namespace corewise::detail {

/// What an engine goes by and may be given anew while it runs (design.md, D10): immutable, and replaced as a whole.
/// What cannot change is in `runtime::settings`; what one thread must read no older than another is in `idle_workers`.
struct rules {
  /// `groups` and `workers` must outlive it.
  rules(profile p, const locality_groups& groups, const worker_layout& workers)
      : settings(std::move(p)),
        placing(make_policy(settings.dispatch.policy, groups, workers, weights_of(settings))),
        stealing(make_steal_policy(settings.steal.policy, groups, workers, settings.steal.start)) {}

  profile settings;
  std::unique_ptr<policy> placing;
  std::unique_ptr<steal_policy> stealing;
};

} // namespace corewise::detail
