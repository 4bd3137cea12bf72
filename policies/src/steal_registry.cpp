#include "steal/hottest_half.hpp"
#include "steal/nearest_half.hpp"
#include "steal/none.hpp"
#include "steal/random_half.hpp"

#include <corewise/policies/steal_policy.hpp>

#include <algorithm>
#include <array>

namespace corewise {
namespace {

struct builtin_steal_policy {
  std::string_view name;
  std::unique_ptr<steal_policy> (*make)(const locality_groups&, const worker_layout&, steal_start);
};

constexpr std::array builtin_steal_policies{
    builtin_steal_policy{nearest_half_name, make_nearest_half},
    builtin_steal_policy{random_half_name, make_random_half},
    builtin_steal_policy{hottest_half_name, make_hottest_half},
    builtin_steal_policy{no_stealing_name, make_no_stealing},
};

} // namespace

std::vector<std::string_view> steal_policy_names() {
  std::vector<std::string_view> names;
  names.reserve(builtin_steal_policies.size());
  for (const builtin_steal_policy& p : builtin_steal_policies) names.push_back(p.name);
  return names;
}

std::unique_ptr<steal_policy> make_steal_policy(std::string_view name, const locality_groups& groups,
                                                const worker_layout& workers, steal_start start) {
  const auto* found = std::ranges::find(builtin_steal_policies, name, &builtin_steal_policy::name);
  return found == builtin_steal_policies.end() ? nullptr : found->make(groups, workers, start);
}

} // namespace corewise
