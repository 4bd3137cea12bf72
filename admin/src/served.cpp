#include "served.hpp"

#include "query.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace corewise::admin {

bool served::names_one(std::string_view query) { return parameter(query, "engine").has_value(); }

std::optional<std::size_t> served::chosen_by(std::string_view query) const {
  const auto wanted = parameter(query, "engine");
  if (!wanted) return several() ? std::nullopt : std::optional<std::size_t>(0);
  const auto found = std::ranges::find(names_, decoded(*wanted));
  if (found == names_.end() || found->empty()) return std::nullopt;
  return static_cast<std::size_t>(found - names_.begin());
}

std::vector<std::size_t> served::meant_by(std::string_view query) const {
  if (const auto one = chosen_by(query)) return {*one};
  std::vector<std::size_t> all(names_one(query) ? 0 : size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

std::string served::advice() const {
  if (set_ == nullptr) return "there is one engine, which has no name here\n";
  return fmt::format("name one of the engines by ?engine=NAME: {}\n", fmt::join(names_, ", "));
}

} // namespace corewise::admin
