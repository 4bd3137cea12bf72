#pragma once

#include <corewise/topology/groups.hpp>

#include <span>

namespace corewise::detail {

/// Returns the level of the smallest thing that holds both groups.
level level_of(const locality_group& a, const locality_group& b) noexcept;

/// Returns all groups in the order in which group `from` meets them on its way outward: by level, then by
/// distance, then the next in number. After the last number comes group 0, so that groups do not all ask
/// equal victims in the same order. `levels` and `distances` are those from `from` to every group. Cost:
/// linear in the number of groups.
std::vector<group_id> outward_order(group_id from, std::span<const level> levels,
                                    std::span<const std::uint32_t> distances);

} // namespace corewise::detail
