#pragma once

#include <corewise/topology/groups.hpp>

#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace corewise {

/// The costs of things on a machine, in nanoseconds. The simulator computes with these costs, `corewise
/// calibrate` measures them, and a machine file states them under `costs` and `energy`. Their names there are
/// those of `cost_names()`.
///
/// Sources of the defaults: a line from another core of one last-level cache costs about 10 ns more than a
/// hit, from another socket about 80 (Intel's and AMD's published latencies, David et al., "Everything you
/// always wanted to know about synchronization", SOSP 2013); sleeping and waking are a futex's on current
/// servers; submitting, running and stealing nearby are this engine's on one machine (docs/figures).
/// The levels in between, the slowdowns and the power are assumed.
struct machine_costs {
  double submit = 40;    ///< until the worker of a submitted task can see it, without the transfer
  double run = 20;       ///< between two tasks of one queue
  double wake_up = 4000; ///< from the call that wakes a sleeper until it looks for work
  double waking = 1500;  ///< what that call takes of the caller's time
  /// The time of a cache line from one core to another, by the level between the two: a task's, for example,
  /// from the core that put the task into a queue to the core that runs it.
  std::array<double, level_count> transfer{10, 10, 20, 30, 80};
  /// The time that a thief takes to find and move tasks, by the level between it and the victim.
  std::array<double, level_count> steal{60, 60, 80, 120, 300};
  /// How many times as long a task takes: on a worker of another memory node than that of its data, in the same package or
  /// in another one; and beside a task on the other thread of its core. 1.6 there means that two threads of a core get 1.25
  /// times as much done as one. Where a core has more threads, each other one that works adds as much.
  struct slowdowns {
    double same_package = 1.1;
    double cross_package = 1.4;
    double shared_core = 1.6;
  } slowdown;

  /// The power that a core draws, in watts, by the name of its kind. Kinds without an entry have `default_active` and
  /// `default_idle`. A searching core draws as much as an active one.
  struct power {
    double active = 4;
    double idle = 0.2;
  };
  std::map<std::string, power> energy;
  power energy_of(const std::string& kind) const {
    const auto at = energy.find(kind);
    return at == energy.end() ? power{} : at->second;
  }

  /// The level's name in a machine file: "same_group" … "cross_package".
  static std::string_view name_of(level l) noexcept;
};

/// The names below `costs`: "submit", "transfer.same_group" and so on. Any thread.
std::span<const std::string> cost_names();
/// The cost of that name. Returns null for an unknown name. Any thread. Throws `std::bad_alloc` at the first call.
double* find_cost(machine_costs& costs, std::string_view name);
const double* find_cost(const machine_costs& costs, std::string_view name);

} // namespace corewise
