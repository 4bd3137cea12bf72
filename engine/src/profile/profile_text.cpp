#include "profile_fields.hpp"

#include <corewise/engine/profile_text.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace corewise {

namespace detail {

namespace {

/// A node of a YAML document: a value, or the nodes below it.
struct yaml_node {
  std::string key = {};   ///< as it stands in the file; empty for an item of a list
  std::string value = {}; ///< as it stands in the file; empty where there are nodes below
  std::string remark = {};
  bool list = false;
  std::vector<yaml_node> below = {};

  yaml_node& at(const std::string& name) {
    const auto found = std::ranges::find(below, name, &yaml_node::key);
    return found != below.end() ? *found : below.emplace_back(yaml_node{.key = name});
  }
  yaml_node& item(std::size_t index) {
    list = true;
    if (below.size() <= index) below.resize(index + 1);
    return below[index];
  }
};

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

/// Returns the value as it stands in a file. Words, numbers and durations are not taken in quotes, and no
/// word that stands only for itself needs any.
std::string as_written(const value_rule& rule, const setting& value) {
  using sort = value_rule::sort;
  const bool quoted = rule.what == sort::text || rule.what == sort::cpu_list;
  return quoted ? in_quotes(to_text(value)) : to_text(value);
}

/// Returns the node of one element. Follows the path's keys, indices and names from the top down, and makes
/// the nodes that are missing.
yaml_node& place_of(yaml_node& top, std::string_view path, const element& which) {
  yaml_node* at = &top;
  auto index = which.indices.begin();
  auto name = which.names.begin();
  while (!path.empty()) {
    const std::string_view step = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), step.size() + 1));
    const std::string_view key = step.substr(0, step.find('['));
    at = &at->at(key == "*" ? in_quotes(*name++) : std::string(key));
    for (std::size_t n = static_cast<std::size_t>(std::ranges::count(step, '[')); n > 0; --n)
      at = &at->item(*index++);
  }
  return *at;
}

struct shown_value {
  element which;
  setting value;
  bool operator==(const shown_value& o) const {
    return which.indices == o.which.indices && which.names == o.which.names && value == o.value;
  }
};

std::vector<shown_value> values_shown_by(const field<profile>& f, const profile& p) {
  std::vector<shown_value> values;
  f.show(p, [&](const element& which, const setting& v) { values.push_back({which, v}); });
  return values;
}

yaml_node document_of(const profile& p, const profile_remark& remark) {
  yaml_node top;
  for (const field<profile>& f : profile_fields()) {
    const std::vector<shown_value> values = values_shown_by(f, p);
    const bool differs = values != values_shown_by(f, profile{}) || f.facts.path == "version";
    for (const auto& [which, value] : values) {
      const std::string said = remark ? remark(key_path(f.facts.path, which)) : "";
      if (!differs && said.empty()) continue;
      yaml_node& place = place_of(top, f.facts.path, which);
      place.value = as_written(f.facts.rule, value);
      place.remark = said;
    }
  }
  return top;
}

/// Returns the node in one line: "[1, 2]", "{a: 1}", "1".
std::string in_line(const yaml_node& node) {
  if (node.below.empty()) return node.list ? "[]" : node.value;
  std::string out;
  for (const yaml_node& n : node.below)
    out += (out.empty() ? "" : ", ") + (n.key.empty() ? "" : n.key + ": ") + in_line(n);
  return (node.list ? '[' : '{') + out + (node.list ? ']' : '}');
}

void write(std::string& out, const yaml_node& node, std::size_t depth) {
  const std::string margin(2 * depth, ' ');
  for (const yaml_node& n : node.below) {
    const bool block = !n.below.empty() && !n.list;
    if (depth == 0 && block) out += '\n';
    out += margin + n.key + ':';
    if (!block) out += ' ' + in_line(n);
    if (!n.remark.empty()) out += "  # " + n.remark;
    out += '\n';
    if (block) write(out, n, depth + 1);
  }
}

} // namespace

} // namespace detail

std::string profile_text(const profile& p, const profile_remark& remark) {
  std::string out;
  detail::write(out, detail::document_of(p, remark), 0);
  return out;
}

} // namespace corewise
