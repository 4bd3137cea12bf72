#include "served.hpp"

#include "query.hpp"

#include <corewise/engine/profile_text.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace corewise::admin {

std::string settings_text(const profile& p) {
  return fmt::format("{}# workers: {}\n", profile_text(p), p.workers.total.value_or(0));
}

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

profile served::as_common(std::size_t i, const profile& common) const {
  profile own = engines_[i]->configuration();
  own.engines = common.engines;
  auto& use = own.topology.machine.use; // a set divides these two, and puts the part's number behind the name
  use.packages = common.topology.machine.use.packages;
  use.nodes = common.topology.machine.use.nodes;
  const std::string_view part =
      std::string_view(names_[i]).substr(std::min(names_[i].rfind('/'), names_[i].size()));
  if (own.name.ends_with(part) && common.name.starts_with(own.name.substr(0, own.name.size() - part.size())))
    own.name = common.name;
  return own;
}

std::string served::advice() const {
  if (set_ == nullptr) return "there is one engine, which has no name here\n";
  return fmt::format("name one of the engines by ?engine=NAME: {}\n", fmt::join(names_, ", "));
}

} // namespace corewise::admin
