#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

namespace corewise::admin {

/// A target, "/path?a=b&c=d", in its two parts.
struct split_target {
  explicit split_target(std::string_view target) noexcept
      : path(target.substr(0, target.find('?'))),
        query(target.substr(std::min(target.size(), path.size() + 1))) {}
  std::string_view path;
  std::string_view query;
};

/// Returns the value of a parameter of a query, "a=b&c=d"; nothing if it is not there.
inline std::optional<std::string_view> parameter(std::string_view query, std::string_view name) noexcept {
  while (!query.empty()) {
    const std::string_view one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), one.size() + 1));
    if (one.substr(0, name.size()) == name && one.substr(name.size(), 1) == "=")
      return one.substr(name.size() + 1);
  }
  return std::nullopt;
}

} // namespace corewise::admin
