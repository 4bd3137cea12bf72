#include "runtime/wanted_workers.hpp"

#include "profile/live_change.hpp"

#include <corewise/topology/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace corewise::detail {

namespace {

/// Takes away the workers for which a group has no seat. `into`: null, or gives them to groups with a free seat and one of
/// these CPUs: a total is dealt in proportion, and rounding may give a group one more worker of a smaller total than of a
/// larger one. Returns how many are left without a seat.
std::uint32_t fit(const shared& engine, std::vector<std::uint32_t>& workers, const cpu_set* into) noexcept {
  std::uint32_t excess = 0;
  const auto seats = [&](group_id g) {
    return static_cast<std::uint32_t>(engine.layout().of_group(g).size());
  };
  for (const locality_group& g : engine.groups().groups()) {
    std::uint32_t& n = workers[g.id.value];
    if (n <= seats(g.id)) continue;
    excess += n - seats(g.id);
    n = seats(g.id);
  }
  for (const locality_group& g : engine.groups().groups()) {
    if (into == nullptr || !g.cpus.intersects(*into)) continue;
    std::uint32_t& n = workers[g.id.value];
    const std::uint32_t more = std::min(excess, seats(g.id) - n);
    n += more;
    excess -= more;
  }
  return excess;
}

} // namespace

const char* workers_key(const profile& p) noexcept {
  return p.workers.total ? "workers.total" : "workers.per_group";
}

std::vector<std::uint32_t> wanted_workers(const shared& engine, const profile& next,
                                          const host_allowance& allowed) {
  const worker_options options = worker_options_of(next, engine.start_cpu());
  const auto counted = [&](const host_allowance& by) {
    std::vector<std::uint32_t> workers = worker_counts(engine.machine(), engine.groups(), options, by);
    static_cast<void>(fit(engine, workers, options.total ? &by.cpus : nullptr));
    return workers;
  };
  std::vector<std::uint32_t> workers = counted(allowed);
  if (std::ranges::all_of(workers, [](std::uint32_t n) { return n == 0; }))
    workers = counted({engine.machine().cpus(), {}, allowed.quota_cpus});
  return workers;
}

bool lacks_seats(const shared& engine, const profile& settings, const host_allowance& allowed,
                 std::uint32_t wanted) {
  const worker_options options = worker_options_of(settings, engine.start_cpu());
  if (options.total || options.per_group) return false;
  const std::vector<std::uint32_t> workers =
      worker_counts(engine.machine(), engine.groups(), options, allowed);
  return std::accumulate(workers.begin(), workers.end(), std::uint32_t{0}) > wanted;
}

std::vector<apply_result::reason> what_it_cannot(shared& engine, const profile& next,
                                                 const host_allowance& allowed,
                                                 std::vector<std::uint32_t>& workers) {
  std::vector<apply_result::reason> reasons = what_needs_a_restart(engine.settings(), next);
  if (!engine.limit().counts() && next.limits.in_flight != 0)
    reasons.push_back(
        {"limits.in_flight", fmt::format("found {}; an engine that began without a limit does not count its "
                                         "tasks, and takes no limit until a restart",
                                         next.limits.in_flight)});
  try {
    workers = wanted_workers(engine, next, allowed);
    const worker_options asked = worker_options_of(next, engine.start_cpu());
    if (!asked.total && !asked.per_group) return reasons; // as many as there are seats
    const std::vector<std::uint32_t> by_number =
        worker_counts(engine.machine(), engine.groups(), asked, {engine.machine().cpus(), {}, std::nullopt});
    std::vector<std::uint32_t> with_seats = by_number;
    if (fit(engine, with_seats, asked.total ? &engine.machine().cpus() : nullptr) == 0) return reasons;
    const auto g = std::ranges::find_if(engine.groups().groups(), [&](const locality_group& group) {
      return by_number[group.id.value] > engine.layout().of_group(group.id).size();
    });
    reasons.push_back(
        {workers_key(next),
         fmt::format("found {} workers for group {}, which has {} seats; there are no more "
                     "until a restart (workers.headroom)",
                     by_number[g->id.value], g->id.value, engine.layout().of_group(g->id).size())});
  } catch (const topology_error& e) {
    reasons.push_back({workers_key(next), e.what()});
  }
  return reasons;
}

} // namespace corewise::detail
