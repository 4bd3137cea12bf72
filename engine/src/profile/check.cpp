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
      for (const std::string& name : which.names)
        if (name.empty() || !detail::is_one_line(name, detail::name_bytes_max))
          add(detail::key_path(field.facts.path, which),
              fmt::format("found the name {}; expected one of 1 to {} bytes in one line", detail::quote(name),
                          detail::name_bytes_max));
      if (!detail::takes(field.facts.rule, value))
        add(detail::key_path(field.facts.path, which),
            fmt::format("found {}; expected {}", detail::quote(detail::to_text(value)),
                        detail::describe(field.facts.rule)));
    });
  for (const detail::contradiction& c : detail::find_contradictions(p)) add(c.keys.front(), c.message);
  return issues;
}

} // namespace corewise
