#include <corewise/topology/sharing.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace corewise {

namespace {

using core_list = std::vector<const core*>;

/// Sharers, a bit each.
using sharer_set = std::uint64_t;
static_assert(most_sharers <= 64);

bool has(sharer_set set, std::size_t sharer) { return (set >> sharer & 1U) != 0; }

sharer_set sharers_of(const core& c, const std::vector<sharer>& all) {
  sharer_set set = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (c.cpus.intersects(all[i].cpus)) set |= sharer_set{1} << i;
  return set;
}

/// Divides cores among the sharers of one set, kind by kind. Whole numbers, so that all compute the same: shares are
/// counted in parts of a core, as many as the weights add up to.
class fair_split {
 public:
  fair_split(const std::vector<sharer>& all, sharer_set among)
      : all_(all),
        among_(among),
        owed_(all.size(), 0) {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (has(among, i)) sum_ += all[i].weight;
    sum_ = std::max<std::int64_t>(sum_, 1); // as weights are
  }

  /// Returns the place of the own share among the cores: the first, and the one behind the last.
  std::pair<std::size_t, std::size_t> next(std::size_t cores, std::size_t own) {
    const auto n = static_cast<std::int64_t>(cores);
    std::pair<std::size_t, std::size_t> found{};
    std::int64_t reached = 0; // in parts
    std::int64_t first = 0;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (!has(among_, i)) continue;
      owed_[i] += all_[i].weight * n;
      reached += owed_[i];
      const std::int64_t nearest = (2 * std::max<std::int64_t>(reached, 0) + sum_) / (2 * sum_);
      const std::int64_t last = is_last(i) ? n : std::clamp(nearest, first, n);
      owed_[i] -= (last - first) * sum_;
      if (i == own) found = {static_cast<std::size_t>(first), static_cast<std::size_t>(last)};
      first = last;
    }
    return found;
  }

  /// Returns the core that a sharer uses for which none is left.
  std::size_t shared_core(std::size_t cores, std::size_t own) const {
    std::int64_t before = 0;
    for (std::size_t i = 0; i < own; ++i)
      if (has(among_, i)) before += all_[i].weight;
    return static_cast<std::size_t>(before * static_cast<std::int64_t>(cores) / sum_);
  }

 private:
  bool is_last(std::size_t sharer) const { return (among_ >> sharer) == 1; }

  const std::vector<sharer>& all_;
  sharer_set among_;
  std::vector<std::int64_t> owed_; // to each, by rounding at the kinds before
  std::int64_t sum_ = 0;           // of the weights
};

} // namespace

cpu_set share_of(const topology& machine, const std::vector<sharer>& all, std::size_t own) {
  std::map<sharer_set, std::map<std::uint32_t, core_list, std::greater<>>> cores; // fastest kind first
  for (const core& c : machine.cores())
    if (const sharer_set set = sharers_of(c, all); has(set, own)) cores[set][c.kind].push_back(&c);
  cpu_set share;
  const core* shared = nullptr;
  std::size_t of = 0;
  for (const auto& [set, kinds] : cores) {
    fair_split among(all, set);
    for (const auto& [kind, list] : kinds) {
      const auto [first, last] = among.next(list.size(), own);
      for (std::size_t i = first; i < last; ++i) share |= list[i]->cpus;
      if (list.size() <= of) continue;
      of = list.size();
      shared = list[among.shared_core(list.size(), own)];
    }
  }
  if (share.empty() && shared != nullptr) share = shared->cpus;
  return share & all[own].cpus;
}

} // namespace corewise
