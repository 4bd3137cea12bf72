#pragma once

#include "scan.hpp"

namespace corewise::detail {

/// Names kinds, given the traits of each one's fastest core, fastest kind first. x86: P, E, LP-E; ARM: big,
/// mid, LITTLE. A number follows where these names do not suffice. A single kind is called "core".
std::vector<std::string> name_kinds(const std::vector<cpu_traits>& fastest_first,
                                    const std::string& architecture);

} // namespace corewise::detail
