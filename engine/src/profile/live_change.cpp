#include "live_change.hpp"

#include "profile_fields.hpp"
#include "quotation.hpp"

#include <fmt/format.h>

#include <map>

namespace corewise {

namespace detail {

namespace {

/// A field's values by the path of their key.
using shown = std::map<std::string, std::string>;

shown values_of(const field<profile>& f, const profile& p) {
  shown values;
  f.show(p, [&](const element& which, const setting& v) {
    values[key_path(f.facts.path, which)] = quote(to_text(v));
  });
  return values;
}

std::string value_or_nothing(const shown& values, const std::string& key) {
  const auto at = values.find(key);
  return at == values.end() ? "nothing" : at->second;
}

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
      const std::string found = value_or_nothing(after, key);
      const std::string has = value_or_nothing(before, key);
      if (found != has)
        reasons.push_back(
            {key, fmt::format("found {}; the engine runs with {} until a restart", found, has)});
    }
  }
  return reasons;
}

} // namespace detail

std::string apply_result::to_text() const {
  std::string text;
  for (const reason& r : refused) text += r.key.empty() ? r.why + '\n' : r.key + ": " + r.why + '\n';
  return text;
}

} // namespace corewise
