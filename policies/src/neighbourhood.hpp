#pragma once

#include <corewise/topology/workers.hpp>

#include <array>
#include <vector>

namespace corewise::detail {

/// The groups that have workers, as they look from inside one domain. All groups of the domain see the others
/// alike: they are on one node of one package.
struct neighbourhood {
  std::vector<group_id> near; ///< the domain's own groups: higher capacity first, then lower number
  std::size_t fastest = 0;    ///< how many of them have the highest capacity

  /// All others, in the order in which ties between them are decided: lower level, higher capacity, lower
  /// distance, lower number.
  std::vector<group_id> far;
  /// Where in `far` each level begins; those of level L end where L + 1 begins.
  std::array<std::size_t, level_count + 1> begin{};
};

/// The neighbourhood of each domain, by domain number. Memory: domains × groups. Cost: 10 ms for a thousand
/// domains.
std::vector<neighbourhood> neighbourhoods_of(const locality_groups& groups, const worker_layout& workers);

} // namespace corewise::detail
