#pragma once

#include "scan.hpp"

namespace corewise::detail {

/// How many times as fast `a` is as `b`: of cpu_capacity where both have one, else of CPPC nominal
/// performance, else the larger of the base and the maximum frequency ratio, since turbo bins make equal
/// cores differ in one of them. Nothing where the two cannot be compared.
std::optional<double> speed_ratio(const cpu_traits& a, const cpu_traits& b);

/// Orders by speed, slower first, types aside.
bool slower(const cpu_traits& a, const cpu_traits& b);

/// What a core of this type does in the time of a performance core at the same clock; assumed.
double type_factor(const cpu_traits& traits);

/// The clock that counts: the maximum, else the base.
std::uint32_t clock_mhz(const cpu_traits& traits);

} // namespace corewise::detail
