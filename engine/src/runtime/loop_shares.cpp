#include "runtime/loop_shares.hpp"

#include "runtime/runtime.hpp"

#include <corewise/engine/detail/driving.hpp>

#include <numeric>
#include <stdexcept>

namespace corewise {

detail::loop_share_list runtime::loop_shares(std::uint64_t size) const {
  std::vector<std::uint64_t, detail::recycling_allocator<std::uint64_t>> weights;
  weights.reserve(groups_.size());
  for (const locality_group& g : groups_.groups())
    weights.push_back(detail::driving::capacity_now(*this, g.id));
  return detail::deal_out(size, weights);
}

namespace detail {

loop_share_list deal_out(std::uint64_t size, std::span<const std::uint64_t> weights) {
  const std::uint64_t all = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  loop_share_list shares;
  if (all == 0) return shares; // no group to deal the loop to
  shares.reserve(weights.size());
  std::uint64_t weight = 0;
  for (std::uint32_t g = 0; g < weights.size(); ++g) {
    if (weights[g] == 0) continue;
    weight += weights[g];
    // size × weight / all, but the product may overflow.
    shares.push_back({size / all * weight + size % all * weight / all, group_id{g}});
  }
  return shares;
}

loop_share_list loop_shares_here(std::uint64_t size) {
  const coroutine_root* const root = this_execution.root;
  if (root == nullptr) throw std::logic_error("only a task of an engine can run a parallel loop");
  return root->engine->loop_shares(size);
}

} // namespace detail

} // namespace corewise
