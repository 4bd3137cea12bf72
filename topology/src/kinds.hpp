#pragma once

#include "scan.hpp"

#include <corewise/topology/discovery.hpp>

namespace corewise::detail {

/// Finds the core kinds of a machine, by the rules of the project. Cores of different type never merge. The
/// others are sorted by speed, and a new kind begins where a core is slower than 1/1.3 of its kind's fastest.
/// Kinds never cut a core. Doubts go to `warnings`. Cost: linear in cores, quadratic in different speeds.
std::vector<core_kind> discover_kinds(const machine_scan& scan, std::vector<std::string>& warnings);

/// Returns the kinds that `description` gives by hand, applied to the discovered ones.
/// Throws `topology_error` where the description contradicts itself or names nothing of this machine.
std::vector<core_kind> describe_kinds(const machine_scan& scan, const std::vector<core_kind>& discovered,
                                      const std::vector<kind_description>& described,
                                      std::vector<std::string>& warnings);

/// Gives the named kinds the capacities of a profile, and sorts again.
/// Throws `topology_error` for a name that no kind has, and for a capacity outside 1..1024.
void override_capacities(std::vector<core_kind>& kinds,
                         const std::map<std::string, std::uint32_t>& capacities,
                         std::vector<std::string>& warnings);

/// Leaves only `cpus` in the kinds. Kinds without a CPU go, and the fastest kind that is left gets capacity
/// 1024.
void restrict_kinds(std::vector<core_kind>& kinds, const cpu_set& cpus);

/// Sorts by capacity, numbers the ranks and scales so that the fastest kind has 1024. Returns whether that
/// changed any capacity.
bool normalise_kinds(std::vector<core_kind>& kinds);

/// Returns `speed` on a scale where `fastest` is 1024; at least 1.
std::uint32_t scale_capacity(double speed, double fastest);

/// Throws `topology_error` unless the capacity is in 1..1024.
void check_capacity(const std::string& kind, std::uint32_t capacity);

/// "P, E" for messages.
std::string kind_names(const std::vector<core_kind>& kinds);

} // namespace corewise::detail
