#include "profile_fields.hpp"
#include "shape.hpp"
#include "value_schema.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace corewise {

namespace {

using json = nlohmann::ordered_json;
using detail::fact_list;
using detail::field_facts;
using detail::shape;

/// Returns the defaults that `profile{}` shows, by path, as YAML would read them.
std::map<std::string, json> defaults() {
  struct typed {
    json operator()(const std::string& v) const { return v; }
    json operator()(std::uint64_t v) const { return v; }
    json operator()(double v) const { return v; }
    json operator()(std::chrono::nanoseconds v) const { return detail::to_text(v); }
  };
  std::map<std::string, json> found;
  for (const auto& field : detail::profile_fields())
    field.show(profile{}, [&](const detail::element&, const detail::setting& v) {
      const json value = std::visit(typed{}, v);
      found[field.facts.path] =
          field.facts.rule.what == detail::value_rule::sort::flag ? json(value == "true") : value;
    });
  return found;
}

std::string description_of(const field_facts& f) {
  std::string text = f.description;
  if (!f.unit.empty()) text += fmt::format(" [{}]", f.unit);
  if (!f.note.empty()) text += "; " + f.note;
  return text;
}

class schema_writer {
 public:
  explicit schema_writer(const fact_list& facts) : facts_(facts), defaults_(defaults()) {}

  json of(const shape& s) const {
    json alternatives = json::array();
    if (s.value) alternatives.push_back(of_value(*facts_[*s.value]));
    if (!s.keys.empty()) add_maps(alternatives, s);
    if (s.any) alternatives.push_back({{"type", "object"}, {"additionalProperties", of(*s.any)}});
    if (s.item) alternatives.push_back({{"type", "array"}, {"items", of(*s.item)}});
    return alternatives.size() == 1 ? alternatives[0] : json{{"anyOf", alternatives}};
  }

 private:
  json of_value(const field_facts& f) const {
    json out{{"description", description_of(f)}};
    out.update(schema_of(f.rule));
    if (const auto found = defaults_.find(f.path); found != defaults_.end()) out["default"] = found->second;
    return out;
  }

  /// Adds one map for each form, or one in all.
  void add_maps(json& alternatives, const shape& s) const {
    std::vector<std::string> forms;
    for (const shape::entry& e : s.keys)
      if (const std::string form = form_of(e, facts_);
          !form.empty() && std::ranges::find(forms, form) == forms.end())
        forms.push_back(form);
    if (forms.empty()) return alternatives.push_back(of_map(s, ""));
    for (const std::string& form : forms) alternatives.push_back(of_map(s, form));
  }

  json of_map(const shape& s, const std::string& form) const {
    json properties = json::object();
    json required = json::array();
    for (const shape::entry& e : s.keys) {
      const std::string own = form_of(e, facts_);
      if (!own.empty() && own != form) continue;
      properties[e.key] = of(e.inner);
      if (is_required(e, facts_)) required.push_back(e.key);
    }
    const bool may_be_nothing = form.empty() && !s.value; // "idle:" with all of its lines commented out
    json out{{"type", may_be_nothing ? json{"object", "null"} : json("object")},
             {"properties", properties},
             {"additionalProperties", false}};
    if (!required.empty()) out["required"] = required;
    if (!form.empty()) out["minProperties"] = 1;
    return out;
  }

  const fact_list& facts_;
  std::map<std::string, json> defaults_;
};

} // namespace

std::string profile_schema() {
  const fact_list facts = detail::facts_of(detail::profile_fields());
  json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
              {"title", "A corewise profile"},
              {"description", "Configures a corewise engine. Every key is optional."}};
  schema.update(schema_writer(facts).of(detail::make_shape(facts)));
  return schema.dump(2) + '\n';
}

} // namespace corewise
