#pragma once

#include "profile_fields.hpp"

#include <map>
#include <string>

namespace corewise::tests {

/// Returns all settings of a profile, by key path: equal for equal profiles.
inline std::map<std::string, std::string> settings_of(const profile& p) {
  std::map<std::string, std::string> shown;
  for (const auto& field : detail::profile_fields())
    field.show(p, [&](const detail::element& e, const detail::setting& v) {
      shown[detail::key_path(field.facts.path, e)] = detail::to_text(v);
    });
  return shown;
}

} // namespace corewise::tests
