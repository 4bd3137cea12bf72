#include "value_schema.hpp"

#include <corewise/topology/cpu_set.hpp>

namespace corewise::detail {

namespace {

using json = nlohmann::ordered_json;
using sort = value_rule::sort;

json powers_of_two_between(std::uint64_t min, std::uint64_t max) {
  json powers = json::array();
  for (std::uint64_t n = 1; n <= max; n *= 2)
    if (n >= min) powers.push_back(n);
  return {{"enum", powers}};
}

json schema_by_sort(const value_rule& rule) {
  switch (rule.what) {
  case sort::word: return {};
  case sort::flag: return {{"type", "boolean"}};
  case sort::integer:
    if (rule.power_of_two) return powers_of_two_between(rule.min, rule.max);
    return {{"type", "integer"}, {"minimum", rule.min}, {"maximum", rule.max}};
  case sort::number: return {{"type", "number"}, {"minimum", rule.min}, {"maximum", rule.max}};
  case sort::duration:
    return {{"type", "string"}, {"pattern", "^[0-9]+(\\.[0-9]{1,9})?(ns|us|µs|ms|s|min|h)$"}};
  case sort::text: // a name such as 2024 is a number to YAML
    return {{"type", {"string", "number", "boolean"}}, {"minLength", rule.min}, {"maxLength", rule.max}};
  case sort::cpu_list: // and a single CPU is one, too
    return {{"type", {"string", "integer"}},
            {"pattern", "^[0-9,:/ -]*$"},
            {"minimum", 0},
            {"maximum", cpu_set::largest}};
  }
  return {};
}

} // namespace

nlohmann::ordered_json schema_of(const value_rule& rule) {
  const json values = schema_by_sort(rule);
  if (rule.words.empty() || rule.what == sort::flag) return values;
  const json words{{"enum", rule.words}};
  return values.empty() ? words : json{{"anyOf", {words, values}}};
}

} // namespace corewise::detail
