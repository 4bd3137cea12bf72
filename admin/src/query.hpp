#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace corewise::admin {

/// A target, "/path?a=b&c=d" or "http://host/path?a=b&c=d", in its two parts. Source: RFC 9112, 3.2.
struct split_target {
  explicit split_target(std::string_view target) noexcept {
    constexpr std::string_view scheme = "http://";
    if (target.starts_with(scheme))
      target.remove_prefix(std::min(target.find('/', scheme.size()), target.size()));
    path = target.substr(0, target.find('?'));
    query = target.substr(std::min(target.size(), path.size() + 1));
  }
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

/// Returns what a value of a query stands for: "a%2Fb" for "a/b". Source: RFC 3986, 2.1.
inline std::string decoded(std::string_view value) {
  std::string out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    unsigned char byte = 0;
    const char* const digits = value.data() + i + 1;
    if (value[i] != '%' || i + 2 >= value.size() ||
        std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) {
      out += value[i];
      continue;
    }
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

/// Returns a text as a value of a query.
inline std::string encoded(std::string_view text) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string out;
  for (const char c : text)
    if (plain.find(c) != std::string_view::npos)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return out;
}

/// Returns why a query is refused, in a sentence with what `request` knows; empty: it is not. `known`: the request's
/// parameters, each with a value as an example, "seconds=5". A mistyped one is refused: without it, a change on trial would
/// be for good.
inline std::string why_refused(std::string_view query, std::string_view request,
                               std::initializer_list<std::string_view> known) {
  for (std::string_view rest = query; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    const std::string_view name = one.substr(0, one.find('='));
    const bool is_known = std::ranges::any_of(
        known, [&](std::string_view example) { return example.substr(0, example.find('=')) == name; });
    const char* wrong = nullptr;
    if (!is_known)
      wrong = "which is not known";
    else if (name.size() == one.size())
      wrong = "without a value";
    else if (parameter(rest, name))
      wrong = "twice";
    if (one.empty() || wrong == nullptr) continue;
    constexpr std::size_t longest_name = 64;
    return fmt::format("found the parameter {}, {}; {} takes {}\n", encoded(name.substr(0, longest_name)),
                       wrong, request, fmt::join(known, ", "));
  }
  return {};
}

} // namespace corewise::admin
