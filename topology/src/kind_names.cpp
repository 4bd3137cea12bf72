#include "kind_names.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace corewise::detail {
namespace {

using choices = std::vector<std::string>;

/// Returns the first choice that is free, else the last choice followed by the least free number.
std::string first_free(const choices& wanted, const std::vector<std::string>& taken) {
  const auto is_free = [&](const std::string& name) { return std::ranges::find(taken, name) == taken.end(); };
  if (const auto free = std::ranges::find_if(wanted, is_free); free != wanted.end()) return *free;
  for (int number = 2;; ++number)
    if (auto name = fmt::format("{}{}", wanted.back(), number); is_free(name)) return name;
}

choices arm_choices(std::size_t place, std::size_t count) {
  if (place == 0) return {"big"};
  return place + 1 == count ? choices{"LITTLE"} : choices{"mid"};
}

choices x86_choices(const cpu_traits& traits, std::size_t place) {
  if (traits.core_type == "core") return {"P"};
  if (traits.core_type == "atom") return {"E", "LP-E"};
  if (traits.core_type == "lowpower") return {"LP-E"};
  if (traits.core_type == "dense") return {"E"};
  return place == 0 ? choices{"P"} : choices{"E", "LP-E"};
}

bool is_arm(const std::vector<cpu_traits>& kinds, const std::string& architecture) {
  if (!architecture.empty()) return architecture.starts_with("aarch64") || architecture.starts_with("arm");
  return std::ranges::any_of(kinds, [](const cpu_traits& t) { return !t.part.empty(); });
}

} // namespace

std::vector<std::string> name_kinds(const std::vector<cpu_traits>& fastest_first,
                                    const std::string& architecture) {
  if (fastest_first.size() == 1) return {"core"};
  const bool arm = is_arm(fastest_first, architecture);
  std::vector<std::string> names;
  names.reserve(fastest_first.size());
  for (std::size_t place = 0; place < fastest_first.size(); ++place)
    names.push_back(first_free(
        arm ? arm_choices(place, fastest_first.size()) : x86_choices(fastest_first[place], place), names));
  return names;
}

} // namespace corewise::detail
