#pragma once

#include <corewise/policies/policy.hpp>

namespace corewise::detail {

/// Returns whether a group's workers fulfil what the hint says of groups, packages, nodes and kinds.
inline bool allows(const placement_hint& hint, const locality_group& group) noexcept {
  return (!hint.group || *hint.group == group.id) && (!hint.package || hint.package == group.package) &&
         (!hint.node || hint.node == group.node) && (!hint.kind || *hint.kind == group.kind);
}

/// Returns whether a worker fulfils what the hint says of workers.
inline bool allows(const placement_hint& hint, worker_id worker) noexcept {
  return !hint.worker || *hint.worker == worker;
}

} // namespace corewise::detail
