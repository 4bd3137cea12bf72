#pragma once

#include <corewise/engine/detail/loop.hpp>

#include <span>

namespace corewise::detail {

/// Deals `size` elements to the groups in proportion to their weights, in their order. A group without a
/// weight gets nothing, and a weight of 0 stands for no group. Each group gets its exact share, rounded down
/// or up. The sum of the weights is below 2^32.
loop_share_list deal_out(std::uint64_t size, std::span<const std::uint64_t> weights);

} // namespace corewise::detail
