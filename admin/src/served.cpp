#include "served.hpp"

#include "query.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace corewise::admin {

bool served::names_one(std::string_view query) { return parameter(query, "engine").has_value(); }

std::optional<std::size_t> served::chosen_by(std::string_view query) const {
  const auto wanted = parameter(query, "engine");
  if (!wanted) return several() ? std::nullopt : std::optional<std::size_t>(0);
  const auto found = std::ranges::find(names_, decoded(*wanted));
  if (found == names_.end() || found->empty()) return std::nullopt;
  return static_cast<std::size_t>(found - names_.begin());
}

std::string served::advice() const {
  if (set_ == nullptr) return "there is one engine, which has no name here\n";
  return fmt::format("name one of the engines by ?engine=NAME: {}\n", fmt::join(names_, ", "));
}

} // namespace corewise::admin
