#pragma once

#include <corewise/simulator/histogram.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Several servers behind balancers, without any network: how a rule of balancing fares that knows this or that of the
// servers. docs/fleet.md has its results.

namespace corewise {

/// How a balancer chooses a server for a request.
enum class balancing_rule : std::uint8_t {
  least_connections, ///< the one with the fewest requests of this balancer (HAProxy's `leastconn`)
  two_random,        ///< of two drawn at random that one (HAProxy's `random(2)`)
  agent_weights,     ///< the fewest for its weight, which the servers' agent checks say each second
  /// By probes: of servers that are not among the fullest, the one with the lowest latency (`hot_cold` in Wydrowski et al.,
  /// *Load is not what you should balance: Introducing Prequal*, NSDI 2024).
  prequal,
};
std::string_view to_string(balancing_rule rule) noexcept;
/// Returns the rule of that name. Nothing: there is none.
std::optional<balancing_rule> balancing_rule_of(std::string_view name) noexcept;
inline constexpr balancing_rule balancing_rules[] = {balancing_rule::least_connections,
                                                     balancing_rule::two_random,
                                                     balancing_rule::agent_weights, balancing_rule::prequal};

struct fleet_options {
  balancing_rule rule = balancing_rule::least_connections;
  std::uint32_t servers = 3;
  std::uint32_t balancers = 1; ///< each knows its own requests only, and has an equal share of all
  std::uint32_t places = 8;    ///< requests on which a server works at once; the others wait there
  std::chrono::nanoseconds service{40'000'000}; ///< the mean of the time that a request takes
  /// Of how many exponentially distributed parts that time is the sum: 1 is an exponential time itself, and with more
  /// parts times differ less.
  std::uint32_t service_parts = 1;
  /// Requests that come, of those that the servers can do: the last one as it is slowed down, if it always is.
  double load = 0.75;
  /// The last server is slowed down to that speed, 0 < speed <= 1, by a neighbour on its machine.
  double slow_speed = 1;
  /// For how long it is slowed, and for how long then not, in turn; nothing: always.
  std::optional<std::chrono::nanoseconds> slow_phase;
  std::optional<std::uint32_t> slow_places; ///< of the last server
  /// A request that has not begun so long after it came is dropped by its server, and one that ends later does no good.
  std::optional<std::chrono::nanoseconds> deadline;
  std::uint32_t in_flight = 0; ///< requests that a server accepts at most (`limits.in_flight`); 0: no limit
  std::chrono::nanoseconds settle{std::chrono::seconds{10}}; ///< before anything is counted
  std::chrono::nanoseconds time{std::chrono::seconds{120}};  ///< that is counted
  std::uint64_t seed = 1;
};

struct fleet_report {
  std::uint64_t requests = 0; ///< that came
  std::uint64_t refused = 0;  ///< at once, by `in_flight`
  std::uint64_t expired = 0;  ///< dropped by their deadline
  std::uint64_t in_time = 0;  ///< answered, before the deadline if there is one
  histogram latency;          ///< of those that were answered, in ns
  std::vector<double> shares; ///< of the requests, by server
  std::uint64_t events = 0;   ///< that were simulated, also those before and after the time that is counted
};

/// Throws `std::invalid_argument` for options that make no sense, for those that bring more than 10^9
/// requests, and for a time that ends after 146 years.
void check_fleet(const fleet_options& options);

/// Simulates one run. The same options give the same report on every machine; two rules with one seed meet the same
/// requests. Cost: about 1 us a request, for `prequal` 3 us. Throws as `check_fleet`,
/// and `std::invalid_argument` also where a request would end later than that.
fleet_report simulate_fleet(const fleet_options& options);

} // namespace corewise
