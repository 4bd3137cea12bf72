#include "measuring.hpp"

#include "host.hpp"
#include "kind_speed.hpp"
#include "places.hpp"
#include "steal.hpp"
#include "submit.hpp"
#include "transfer.hpp"
#include "wake_up.hpp"

#include <corewise/topology/costs.hpp>

#include <algorithm>

namespace corewise::command {

namespace {

constexpr int turns = 5;

void find_none(calibration& into, std::string name, const std::string& why) {
  into.costs[std::move(name)].why_not = why;
}

/// The pairs of the nearest level that has any.
const std::vector<cpu_pair>* nearest(const level_pairs& pairs) {
  const auto found = std::ranges::find_if(pairs, [](const auto& some) { return !some.empty(); });
  return found == pairs.end() ? nullptr : &*found;
}

void add_wake_up(const topology& machine, const level_pairs& pairs, probe_list& probes, calibration& into) {
  if (const auto* near = nearest(pairs))
    return probes.push_back(std::make_unique<wake_up_probe>(*near)), void();
  for (const char* name : {"wake_up", "waking"})
    find_none(into, name, why_no_pair(machine, level::same_group));
}

void add_levels(const topology& machine, const level_pairs& pairs, probe_list& probes, calibration& into) {
  for (std::size_t l = 0; l < level_count; ++l) {
    const auto at = static_cast<level>(l);
    if (pairs[l].empty()) {
      for (const char* of : {"transfer.", "steal."})
        find_none(into, of + std::string(machine_costs::name_of(at)), why_no_pair(machine, at));
      continue;
    }
    probes.push_back(std::make_unique<transfer_probe>(at, pairs[l]));
    probes.push_back(std::make_unique<steal_probe>(at, pairs[l]));
  }
}

void refuse_slowdowns(const topology& machine, calibration& into) {
  const std::string why = machine.nodes().size() < 2 ? "there is one memory node"
                                                     : "it depends on the use that tasks make of their data";
  for (const char* name : {"slowdown.same_package", "slowdown.cross_package"}) find_none(into, name, why);
  find_none(into, "slowdown.shared_core",
            machine.cpus().size() == machine.cores().size() ? "each core has one hardware thread"
                                                            : "it depends on what the tasks compute");
}

/// The probes of this machine. For each figure without a probe it notes why.
probe_list probes_for(const topology& machine, calibration& into) {
  const locality_groups groups(machine, {});
  const level_pairs pairs = pairs_of(machine, groups);
  probe_list probes;
  probes.push_back(std::make_unique<kind_speed_probe>(machine));
  probes.push_back(std::make_unique<submit_probe>(machine.kinds().back().cpus.first()));
  add_wake_up(machine, pairs, probes, into);
  add_levels(machine, pairs, probes, into);
  refuse_slowdowns(machine, into);
  return probes;
}

/// Gives each probe an equal part of the time that is left, turn by turn.
void take_turns(const probe_list& probes, steady_time begin, steady_time end, const progress_hook& progress) {
  auto turns_left = static_cast<std::chrono::nanoseconds::rep>(turns * probes.size());
  for (int turn = 0; turn < turns; ++turn) {
    for (const auto& p : probes) {
      const steady_time at = now();
      if (turn > 0 && at >= end) return;
      progress(p->name(), ns_between(begin, at) / ns_between(begin, end));
      p->measure(at + (end - at) / turns_left--);
    }
  }
}

} // namespace

calibration calibrate(const topology& machine, std::chrono::nanoseconds budget,
                      const progress_hook& progress) {
  const steady_time begin = now();
  const host_watch host;
  calibration found;
  const probe_list probes = probes_for(machine, found);
  take_turns(probes, begin, begin + std::chrono::duration_cast<steady_time::duration>(budget), progress);
  for (const auto& p : probes) p->report(found);
  found.host = host.facts(machine);
  return found;
}

} // namespace corewise::command
