#pragma once

#include <compare>
#include <cstdint>

namespace corewise {

/// A number that names one thing of one sort, so that a group is never passed where a worker is wanted.
/// Ids are dense indices from 0 into the list of such things, unless the alias says otherwise.
template <class Tag> struct id {
  std::uint32_t value = 0;

  constexpr auto operator<=>(const id&) const noexcept = default;
};

/// A locality group: index into `locality_groups::groups()`.
using group_id = id<struct group_tag>;

/// A worker: index into `worker_layout::workers()`.
using worker_id = id<struct worker_tag>;

} // namespace corewise
