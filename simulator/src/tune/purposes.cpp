#include "purpose_texts.hpp" // made by CMake from configs/

#include <corewise/simulator/tune.hpp>

namespace corewise {

std::vector<profile> shipped_purposes() {
  std::vector<profile> all;
  for (const std::string_view text : detail::purpose_texts) all.push_back(parse_profile(text));
  return all;
}

profile with_purpose(const profile& p, const profile& purpose) {
  profile made = p;
  if (!p.workers.per_group) made.topology.groups = purpose.topology.groups;
  if (!p.workers.per_group && !p.workers.total) made.topology.smt = purpose.topology.smt;
  made.dispatch = purpose.dispatch;
  made.steal = purpose.steal;
  made.queues = purpose.queues;
  made.queues.local = p.queues.local;
  if (p.queues.inbox) made.queues.inbox = p.queues.inbox;
  made.injection = purpose.injection;
  made.idle = purpose.idle;
  return made;
}

} // namespace corewise
