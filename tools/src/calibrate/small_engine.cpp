#include "small_engine.hpp"

namespace corewise::command {

profile small_profile(const cpu_set& cpus) {
  profile p;
  p.topology.machine.use.cpus = cpus;
  p.topology.smt = smt_use::all;
  p.workers.total = static_cast<std::uint32_t>(cpus.size()); // whatever quota the host sets
  p.workers.pin = pin_to::core;
  p.dispatch.policy = "local_first";
  p.queues.lifo_cap = 0; // all waiting tasks can be stolen, to the last one and from everywhere
  p.steal.minimum_at = {1, 1, 1};
  p.blocking.stuck_after = std::nullopt;
  return p;
}

} // namespace corewise::command
