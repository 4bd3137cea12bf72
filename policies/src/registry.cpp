#include "nearest_lightest.hpp"

#include <corewise/policies/policy.hpp>

#include <algorithm>
#include <array>

namespace corewise {
namespace {

struct builtin_policy {
  std::string_view name;
  std::unique_ptr<policy> (*make)(const locality_groups&, const worker_layout&, const dispatch_weights&);
};

constexpr std::array builtin_policies{
    builtin_policy{nearest_lightest_name, make_nearest_lightest},
};

} // namespace

std::vector<std::string_view> policy_names() {
  std::vector<std::string_view> names;
  names.reserve(builtin_policies.size());
  for (const builtin_policy& p : builtin_policies) names.push_back(p.name);
  return names;
}

std::unique_ptr<policy> make_policy(std::string_view name, const locality_groups& groups,
                                    const worker_layout& workers, const dispatch_weights& weights) {
  const auto* found = std::ranges::find(builtin_policies, name, &builtin_policy::name);
  return found == builtin_policies.end() ? nullptr : found->make(groups, workers, weights);
}

} // namespace corewise
