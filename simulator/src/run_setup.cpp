#include "run_setup.hpp"

#include <bit>
#include <limits>

namespace corewise::detail {

run_setup::run_setup(const corewise::profile& p, const simulated_machine& m, const corewise::workload& w,
                     const simulation_options& o)
    : profile(p),
      machine(m),
      workload(w),
      options(o),
      groups(m.groups),
      layout(m.workers),
      costs(m.costs),
      rules(rules_of(p.queues.discipline)),
      stealing(p.steal.policy != "none"),
      injects(p.injection.scope != injection_scope::none),
      ring_capacity(std::bit_ceil(p.queues.local)),
      inbox_capacity(p.queues.inbox ? std::bit_ceil(*p.queues.inbox)
                                    : std::numeric_limits<std::int32_t>::max()) {
  for (const locality_group& g : groups.groups())
    injection_of.push_back(p.injection.scope == injection_scope::engine ? group_id{0} : g.id);
}

} // namespace corewise::detail
