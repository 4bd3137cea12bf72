#pragma once

#include "interval.hpp"
#include "sample_path.hpp"

#include <corewise/simulator/simulation.hpp>

#include <chrono>
#include <limits>
#include <string>

namespace corewise::tests {

/// The mean service time, so long that whole nanoseconds are exact enough.
inline constexpr double service_ns = 1e6;

/// Independent arrivals from outside, exponential service.
inline workload poisson(double load) {
  workload w;
  w.service.mean_ns = service_ns;
  w.load = load;
  return w;
}

/// The costs of theory, whose workers do nothing but run tasks.
inline machine_costs no_costs() {
  machine_costs costs;
  for (const std::string& name : cost_names()) *find_cost(costs, name) = name.starts_with("slowdown") ? 1 : 0;
  return costs;
}

inline simulated_machine free_of_cost(const profile& p) {
  simulated_machine m(p);
  m.costs = no_costs();
  return m;
}

/// A profile where each task runs where it was placed, and tasks run in the order in which they came.
inline profile no_stealing(const std::string& machine, const std::string& policy) {
  constexpr auto never = std::numeric_limits<std::uint32_t>::max();
  profile p;
  use_machine(p.topology.machine, machine);
  p.topology.groups = {domain_kind::machine, 0};
  p.dispatch.policy = policy;
  p.steal.policy = "none";
  p.queues.inbox = {}; // unbounded: no task goes elsewhere because an inbox is full
  p.injection.interval = {
      never, never}; // at its interval a worker takes from its inbox before older tasks in its ring
  p.idle.spin = std::chrono::nanoseconds{0};
  return p;
}

inline simulation_options options_of(const path_length& length, std::uint64_t seed) {
  simulation_options options;
  options.seed = seed;
  options.tasks = length.tasks;
  options.warm_up = length.warm_up;
  return options;
}

/// The response time in service times. Uses `rule` in place of the profile's policy, unless it is null.
inline double simulated_response(const profile& p, const simulated_machine& m, double load,
                                 const path_length& length, std::uint64_t seed,
                                 const policy* rule = nullptr) {
  simulation_options options = options_of(length, seed);
  options.rule = rule;
  return simulate(p, m, poisson(load), options).response.mean() / service_ns;
}

/// The response time by arithmetic, on the arrivals that a simulation with that seed meets.
template <class Rule>
double path_response(double load, std::uint64_t seed, const std::vector<double>& speeds, Rule rule,
                     const path_length& length) {
  double capacity = 0;
  for (const double s : speeds) capacity += s;
  return response_on_path(arrival_stream(poisson(load), capacity, seed), speeds, rule, length) / service_ns;
}

/// The tasks that came to workers of full speed once a run was warm: by chance a little more or less than was
/// asked for.
struct what_came {
  double load = 0;
  double service = 0; ///< mean, in that which was asked for
};

inline what_came what_comes(double load, std::uint32_t workers, const path_length& length,
                            std::uint64_t seed) {
  arrival_stream arrivals(poisson(load), workers, seed);
  const auto unmeasured = static_cast<std::uint64_t>(static_cast<double>(length.tasks) * length.warm_up);
  double began = 0, now = 0, work = 0;
  for (std::uint64_t i = 0; i < length.tasks; ++i) {
    const arrival task = arrivals.next().value();
    now = static_cast<double>(task.time_ns);
    if (i < unmeasured)
      began = now;
    else
      work += task.service_ns;
  }
  return {work / (now - began) / workers, work / static_cast<double>(length.tasks - unmeasured) / service_ns};
}

/// Repeats how much `response(seed)` differs from the value of `theory(load)` for the load that came, plus
/// its value for the load that was asked for. Most of the chance is in the tasks that came, so the interval
/// is several times narrower (a control variate).
template <class Response, class Theory>
interval repeat_by_what_came(double load, std::uint32_t workers, const path_length& length,
                             const Response& response, const Theory& theory) {
  const double asked_for = theory(load);
  return repeat([&](std::uint64_t seed) {
    const what_came came = what_comes(load, workers, length, seed);
    return response(seed) - came.service * theory(came.load) + asked_for;
  });
}

} // namespace corewise::tests
