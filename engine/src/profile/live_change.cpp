#include "live_change.hpp"

#include "profile_fields.hpp"
#include "quotation.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>

namespace corewise {

namespace detail {

namespace {

/// A field's values by the path of their key.
using shown = std::map<std::string, std::string>;

shown values_of(const field<profile>& f, const profile& p) {
  shown values;
  f.show(p,
         [&](const element& which, const setting& v) { values[key_path(f.facts.path, which)] = to_text(v); });
  return values;
}

std::optional<std::string> value_of(const shown& values, const std::string& key) {
  const auto at = values.find(key);
  return at == values.end() ? std::nullopt : std::optional(at->second);
}

std::string for_people(const std::optional<std::string>& value) { return value ? quote(*value) : "nothing"; }

} // namespace

std::vector<apply_result::reason> what_needs_a_restart(const profile& now, const profile& next) {
  std::vector<apply_result::reason> reasons;
  for (const field<profile>& f : profile_fields()) {
    if (f.facts.changes == change::live) continue;
    const shown before = values_of(f, now);
    const shown after = values_of(f, next);
    shown all = before;
    all.insert(after.begin(), after.end());
    for (const auto& [key, value] : all) {
      const auto found = value_of(after, key);
      const auto has = value_of(before, key);
      if (found != has)
        reasons.push_back({key, fmt::format("found {}; the engine runs with {} until a restart",
                                            for_people(found), for_people(has))});
    }
  }
  return reasons;
}

} // namespace detail

std::string apply_result::to_text() const {
  std::string text(in_child ? "the engine belongs to the parent of this process\n" : "");
  for (const reason& r : refused) text += r.key.empty() ? r.why + '\n' : r.key + ": " + r.why + '\n';
  return text;
}

} // namespace corewise
