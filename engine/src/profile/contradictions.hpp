#pragma once

#include <corewise/engine/profile.hpp>

#include <string>
#include <vector>

namespace corewise::detail {

/// An error in fields of which each by itself is right.
struct contradiction {
  /// The fields in question, the one to blame first.
  std::vector<std::string> keys;
  std::string message;
};

/// Returns the contradictions between the fields of a profile.
std::vector<contradiction> find_contradictions(const profile& p);

/// Returns the contradictions in a description by hand; `prefix` stands before "kinds" and "distances" in the
/// keys.
std::vector<contradiction> find_contradictions(const std::vector<kind_description>& kinds,
                                               const std::vector<std::vector<std::uint32_t>>& distances,
                                               const std::string& prefix);

/// Adds a contradiction if `name`, at that key, is none of the kinds that are described by hand. Where none is described,
/// any name may be one. `prefix`: as above.
void check_kind_name(std::vector<contradiction>& found, const std::string& key, const std::string& name,
                     const std::vector<kind_description>& kinds, const std::string& prefix);

} // namespace corewise::detail
