#include "runtime/runtime.hpp"

#include <corewise/engine/group_local.hpp>

#include <map>

namespace corewise::detail {

local_objects::local_objects(engine& e, local_to per) : engine_(*e.runtime_) {
  const auto& groups = engine_.groups().groups();
  std::map<std::uint32_t, std::uint32_t> by_node; // groups without a node stand for themselves
  std::vector<group_id> firsts;
  for (const locality_group& g : groups) {
    const auto next = static_cast<std::uint32_t>(firsts.size());
    const std::uint32_t at =
        per == local_to::node && g.node ? by_node.try_emplace(*g.node, next).first->second : next;
    if (at == next) firsts.push_back(g.id);
    holder_of_.push_back(at);
  }
  count_ = firsts.size();
  holders_ = std::make_unique<holder[]>(count_);
  for (std::size_t i = 0; i < count_; ++i) {
    holders_[i].first_ = firsts[i];
    holders_[i].memory_ = engine_.memory(firsts[i]);
  }
}

local_objects::holder& local_objects::here() const noexcept {
  return holders_[holder_of_[engine_.group_here().value]];
}

} // namespace corewise::detail
