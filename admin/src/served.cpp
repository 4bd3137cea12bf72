#include "served.hpp"

#include "query.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace corewise::admin {

bool served::names_one(std::string_view query) const { return parameter(query, "engine").has_value(); }

std::optional<std::size_t> served::chosen_by(std::string_view query) const {
  const auto wanted = parameter(query, "engine");
  if (!wanted) return several() ? std::nullopt : std::optional<std::size_t>(0);
  const auto found = std::ranges::find(names_, decoded(*wanted));
  if (found == names_.end() || !several()) return std::nullopt;
  return static_cast<std::size_t>(found - names_.begin());
}

std::string served::advice() const {
  if (!several()) return "there is one engine, which has no name here\n";
  return fmt::format("name one of the engines by ?engine=NAME: {}\n", fmt::join(names_, ", "));
}

std::optional<served::profile_place> served::profile_of(std::string_view query) const {
  if (const auto i = chosen_by(query)) {
    engine& e = (*this)[*i];
    return profile_place{e.configuration(), [&e](const profile& p) { return e.apply(p); }};
  }
  if (set_ == nullptr || names_one(query)) return std::nullopt;
  std::optional<profile> whole = set_->configuration();
  if (!whole) return std::nullopt;
  return profile_place{*std::move(whole), [set = set_](const profile& p) { return set->apply(p); }};
}

} // namespace corewise::admin
