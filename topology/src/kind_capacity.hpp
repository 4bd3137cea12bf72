#pragma once

#include "scan.hpp"

namespace corewise::detail {

/// How fast a kind is, in a unit that all kinds of one machine share, and where that is from.
struct rating {
  double speed = full_capacity;
  std::string source = "one kind";
};

/// Rates kinds by the traits of each one's fastest core: by cpu_capacity if all have it, else by CPPC nominal
/// performance, else by clock × core type, else by core type or hwloc's ranking alone. What none of that
/// tells is assumed, with a warning.
std::vector<rating> rate_kinds(const std::vector<cpu_traits>& kinds, std::vector<std::string>& warnings);

} // namespace corewise::detail
