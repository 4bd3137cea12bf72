#pragma once

#include "scan.hpp"

namespace corewise::detail {

/// How fast a kind is, in a unit that all kinds of one machine share, and the source of that number.
struct rating {
  double speed = full_capacity;
  std::string source = "one kind";
};

/// Rates kinds by the traits of each one's fastest core: by cpu_capacity if all have it, else by CPPC nominal
/// performance, else by clock × core type, else by core type or hwloc's ranking alone. Where none of these
/// tells a speed the rating assumes one and warns.
std::vector<rating> rate_kinds(const std::vector<cpu_traits>& kinds, std::vector<std::string>& warnings);

} // namespace corewise::detail
