#include "activity.hpp"
#include "global_queue.hpp"
#include "lightest.hpp"
#include "local_first.hpp"
#include "nearest_lightest.hpp"
#include "random.hpp"
#include "round_robin.hpp"
#include "two_choices.hpp"

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
    builtin_policy{lightest_name, make_lightest},
    builtin_policy{two_choices_name, make_two_choices},
    builtin_policy{activity_name, make_activity},
    builtin_policy{local_first_name, make_local_first},
    builtin_policy{global_queue_name, make_global_queue},
    builtin_policy{round_robin_name, make_round_robin},
    builtin_policy{random_name, make_random},
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
