#pragma once

#include "scan.hpp"

namespace corewise::detail {

/// Returns how many times as fast `a` is as `b`: by cpu_capacity where both have one, else by CPPC nominal
/// performance, or by the mean of the base and the maximum frequency ratio if that is larger; else the larger
/// of the two. Turbo bins make equal cores differ in one of the two. Returns nothing where the cores cannot
/// be compared.
std::optional<double> speed_ratio(const cpu_traits& a, const cpu_traits& b);

/// Orders by speed alone, slower first. The types do not count.
bool slower(const cpu_traits& a, const cpu_traits& b);

/// The share of a performance core's work that a core of this type does at the same clock; assumed.
double type_factor(const cpu_traits& traits);

/// The clock that counts: the maximum, else the base.
std::uint32_t clock_mhz(const cpu_traits& traits);

} // namespace corewise::detail
