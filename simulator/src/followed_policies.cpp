#include "followed_policies.hpp"

#include "stream_names.hpp"

#include <algorithm>

namespace corewise::detail {

followed_policies::followed_policies(const run_setup& setup) : setup_(setup) {
  const std::uint64_t seed = setup.options.seed;
  for (std::size_t w = 0; w < setup.layout.size(); ++w)
    draws_.push_back({.rng = placement_rng(seed * 0x9E3779B97F4A7C15ULL + w + 1), .cursor = {}});
  if (const auto follows = follow_period_of(setup.profile); setup.profile.topology.measure && follows) {
    const std::int64_t period = follows->count();
    meter_.emplace(measured_speeds(setup.groups), random_stream(seed, samples_stream),
                   std::vector<log_times>(setup.groups.size()), period, period);
  }
  make();
}

void followed_policies::make() {
  if (!in_force_.empty())
    slowed_ = std::make_unique<const locality_groups>(setup_.groups.at_speeds(in_force_));
  const locality_groups& groups = slowed_ ? *slowed_ : setup_.groups;
  const profile& p = setup_.profile;
  placing_ = make_policy(p.dispatch.policy, groups, setup_.layout, weights_of(p));
  stealing_ = make_steal_policy(p.steal.policy, groups, setup_.layout, p.steal.start);
}

void followed_policies::ran(group_id g, std::int64_t ns, std::int64_t now_ns) {
  meter& m = *meter_;
  if (--m.until_sample == 0) {
    m.until_sample = 1 + m.samples.below(127);
    m.times[g.value].add(std::chrono::nanoseconds{ns});
  }
  if (now_ns < m.next_look_ns) return;
  m.next_look_ns = now_ns + m.period_ns;
  for (std::size_t i = 0; i < m.times.size(); ++i)
    m.speeds.take(0, group_id{static_cast<std::uint32_t>(i)}, m.times[i]);
  m.speeds.learn({}, std::chrono::nanoseconds{now_ns});
  if (std::ranges::equal(m.speeds.percent(), in_force_)) return;
  in_force_.assign(m.speeds.percent().begin(), m.speeds.percent().end());
  const auto old_placing = std::move(placing_); // until the new ones are there: both read the groups
  const auto old_stealing = std::move(stealing_);
  const auto old_groups = std::move(slowed_);
  make();
}

} // namespace corewise::detail
