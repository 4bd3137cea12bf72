#include "shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace corewise::detail {

namespace {

shape& made(std::unique_ptr<shape>& s) {
  if (!s) s = std::make_unique<shape>();
  return *s;
}

shape& entry_of(shape& s, std::string_view key) {
  for (shape::entry& e : s.keys)
    if (e.key == key) return e.inner;
  return s.keys.emplace_back(shape::entry{std::string(key), {}}).inner;
}

/// Takes the first step off a path: "a.b" → "a", "[][]" → "[]".
std::string_view take_step(std::string_view& path) {
  const std::size_t size =
      path.starts_with("[]") ? 2 : std::min(std::min(path.find('.'), path.find('[')), path.size());
  const std::string_view step = path.substr(0, size);
  path.remove_prefix(size);
  if (path.starts_with('.')) path.remove_prefix(1);
  return step;
}

shape& descend(shape& from, std::string_view path) {
  shape* s = &from;
  while (!path.empty()) {
    const std::string_view step = take_step(path);
    s = step == "[]" ? &made(s->item) : step == "*" ? &made(s->any) : &entry_of(*s, step);
  }
  return *s;
}

std::string describe_keys(const shape& s, const fact_list& facts) {
  std::set<std::string> forms;
  for (const shape::entry& e : s.keys) forms.insert(form_of(e, facts));
  const char* between = forms.size() > 1 ? " or " : ", ";
  return fmt::format("a map with {}", fmt::join(s.key_names(), between));
}

} // namespace

const shape::entry* shape::find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key, &entry::key);
  return found == keys.end() ? nullptr : &*found;
}

std::vector<std::string> shape::key_names() const {
  std::vector<std::string> names;
  for (const entry& e : keys) names.push_back(e.key);
  return names;
}

shape make_shape(const fact_list& facts) {
  shape root;
  for (std::size_t i = 0; i < facts.size(); ++i) descend(root, facts[i]->path).value = i;
  return root;
}

std::string describe(const shape& s, const fact_list& facts) {
  std::vector<std::string> parts;
  if (s.value) parts.push_back(describe(facts[*s.value]->rule));
  if (!s.keys.empty()) parts.push_back(describe_keys(s, facts));
  if (s.any) parts.push_back("a map of names, each with " + describe(*s.any, facts));
  if (s.item) parts.push_back("a list, each item " + describe(*s.item, facts));
  return fmt::format("{}", fmt::join(parts, ", or "));
}

std::string form_of(const shape::entry& e, const fact_list& facts) {
  return e.inner.value ? facts[*e.inner.value]->form : "";
}

bool is_required(const shape::entry& e, const fact_list& facts) {
  return e.inner.value && facts[*e.inner.value]->required;
}

} // namespace corewise::detail
