#include "shape_reader.hpp"

#include "quotation.hpp"
#include "spelling.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace corewise::detail {

namespace {

using sort = document_node::sort;

std::string found_text(const document_node& node) {
  switch (node.what) {
  case sort::nothing: return "nothing";
  case sort::list: return node.children.empty() ? "an empty list" : "a list";
  case sort::map: return "a map";
  case sort::scalar: break;
  }
  return node.in_quotes ? "the text " + quote(node.text) : quote(node.text);
}

bool is_plain_number(const document_node& node) {
  return !node.in_quotes && !node.text.empty() &&
         node.text.find_first_not_of("0123456789.") == std::string::npos;
}

/// Returns advice where the expected value alone does not say enough.
std::string advice(const document_node& node, const value_rule& rule) {
  if (rule.what == value_rule::sort::duration && is_plain_number(node))
    return fmt::format("; write the unit, such as {0}ns, {0}us or {0}ms", printable(node.text, 20));
  const bool unquotable = rule.what == value_rule::sort::integer || rule.what == value_rule::sort::number ||
                          rule.what == value_rule::sort::flag;
  if (node.in_quotes && unquotable && read_value(rule, node.text, false)) return "; leave the quotes out";
  return did_you_mean(node.text, rule.words);
}

/// Returns a path up to a key behind its first: "topology.kinds[].name" and "kinds" → "topology.kinds"; or the path, if
/// it is that key; or nothing.
std::string_view up_to(std::string_view path, std::string_view key) {
  if (path == key) return path;
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.', dot + 1)) {
    const std::size_t end = std::min(path.find_first_of(".[", dot + 1), path.size());
    if (path.substr(dot + 1, end - dot - 1) == key) return path.substr(0, end);
  }
  return {};
}

} // namespace

void shape_reader::read(const document_node& document, const shape& expected) {
  if (document.what == sort::nothing) // an empty file is a file of defaults
    check_required(document, expected);
  else
    read_node(document, expected);
}

void shape_reader::read_node(const document_node& node, const shape& expected) {
  positions_[path_] = node.at;
  if (node.refused) return;
  if (node.what == sort::map && (!expected.keys.empty() || expected.any))
    read_map(node, expected);
  else if (node.what == sort::list && expected.item)
    read_list(node, expected);
  else if (node.what == sort::scalar && expected.value)
    read_scalar(node, expected);
  else if (node.what == sort::nothing && !expected.keys.empty() && !expected.value)
    return; // a section whose lines are all commented out
  else
    refuse(node, expected);
}

void shape_reader::read_map(const document_node& node, const shape& expected) {
  for (const document_node& child : node.children) {
    const std::size_t length = path_.size();
    if (!path_.empty()) path_ += '.';
    path_ += child.key;
    read_entry(child, expected);
    path_.resize(length);
  }
  check_required(node, expected);
  check_forms(node, expected);
}

void shape_reader::read_entry(const document_node& node, const shape& expected) {
  if (const shape::entry* e = expected.find(node.key)) return read_node(node, e->inner);
  if (!expected.any) return refuse_key(node, expected);
  if (node.key.size() > name_bytes_max)
    return issues_.add(node.key_at, path_,
                       fmt::format("found a name of {} bytes; {} at most", node.key.size(), name_bytes_max));
  if (!is_one_line(node.key, name_bytes_max))
    return issues_.add(node.key_at, path_,
                       fmt::format("found the name {}; a name is in one line", quote(node.key)));
  element_.names.push_back(node.key);
  read_node(node, *expected.any);
  element_.names.pop_back();
}

void shape_reader::read_list(const document_node& node, const shape& expected) {
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const std::size_t length = path_.size();
    path_ += fmt::format("[{}]", i);
    element_.indices.push_back(i);
    const document_node& child = node.children[i];
    const bool empty = child.what == sort::nothing || (child.what == sort::list && child.children.empty());
    if (empty && !child.refused)
      refuse(child, *expected.item); // else it would not be there, and could not be missed
    else
      read_node(child, *expected.item);
    element_.indices.pop_back();
    path_.resize(length);
  }
}

void shape_reader::read_scalar(const document_node& node, const shape& expected) {
  const value_rule& rule = facts_[*expected.value]->rule;
  if (const std::optional<setting> value = read_value(rule, node.text, node.in_quotes))
    receive_(*expected.value, element_, *value);
  else
    refuse(node, expected);
}

void shape_reader::check_required(const document_node& node, const shape& expected) {
  for (const shape::entry& e : expected.keys) {
    const bool given = std::ranges::find(node.children, e.key, &document_node::key) != node.children.end();
    if (given || !is_required(e, facts_)) continue;
    issues_.add(node.at, path_.empty() ? e.key : path_ + '.' + e.key,
                "found nothing; expected " + describe(e.inner, facts_));
  }
}

void shape_reader::check_forms(const document_node& node, const shape& expected) {
  const document_node* first = nullptr;
  std::string form;
  bool has_forms = false;
  for (const shape::entry& e : expected.keys) has_forms = has_forms || !form_of(e, facts_).empty();
  for (const document_node& child : node.children) {
    const shape::entry* e = expected.find(child.key);
    const std::string own = e ? form_of(*e, facts_) : "";
    if (own.empty()) continue;
    if (!first) {
      first = &child;
      form = own;
    } else if (own != form) {
      issues_.add(child.key_at, path_ + '.' + child.key,
                  fmt::format("found both {} and {}; expected {}", first->key, child.key,
                              describe(expected, facts_)));
    }
  }
  if (has_forms && node.children.empty()) refuse(node, expected);
}

void shape_reader::refuse(const document_node& node, const shape& expected) {
  // The parser places a missing value where the next value begins, which may be lines below.
  const text_position at = node.what == sort::nothing && !node.key.empty() ? node.key_at : node.at;
  const std::string found =
      node.what == sort::map && node.children.empty() ? std::string("an empty map") : found_text(node);
  issues_.add(at, path_,
              fmt::format("found {}; expected {}{}", found, describe(expected, facts_),
                          node.what == sort::scalar && expected.value
                              ? advice(node, facts_[*expected.value]->rule)
                              : ""));
}

void shape_reader::refuse_key(const document_node& node, const shape& expected) {
  issues_.add(node.key_at, path_,
              fmt::format("found an unknown key; {}", advice_for_key(node.key, expected)));
}

std::string shape_reader::advice_for_key(const std::string& key, const shape& expected) const {
  const std::vector<std::string> known = expected.key_names();
  const std::string all = fmt::format("the keys here are {}", fmt::join(known, ", "));
  const std::string_view nearest = nearest_word(key, known);
  if (looks_like(key, nearest)) return fmt::format("did you mean {}? {}", quote(nearest), all);
  std::string_view outermost; // of the places of such a key
  for (const field_facts* f : facts_)
    if (const auto place = up_to(f->path, key);
        !place.empty() && (outermost.empty() || place.size() < outermost.size()))
      outermost = place;
  if (!outermost.empty()) return fmt::format("{} belongs in {}; {}", quote(key), outermost, all);
  return fmt::format("the nearest is {}; {}", quote(nearest), all);
}

} // namespace corewise::detail
