#include "contradictions.hpp"
#include "profile_fields.hpp"
#include "quotation.hpp"

#include <fmt/format.h>

namespace corewise {

std::vector<profile_issue> check_profile(const profile& p) {
  std::vector<profile_issue> issues;
  const auto add = [&](const std::string& key, const std::string& message) {
    issues.push_back({"", 0, 0, key, message});
  };
  for (const auto& field : detail::profile_fields())
    field.show(p, [&](const detail::element& which, const detail::setting& value) {
      if (!detail::takes(field.facts.rule, value))
        add(detail::key_path(field.facts.path, which),
            fmt::format("found {}; expected {}", detail::quote(detail::to_text(value)),
                        detail::describe(field.facts.rule)));
    });
  for (const detail::contradiction& c : detail::find_contradictions(p)) add(c.keys.front(), c.message);
  return issues;
}

} // namespace corewise
