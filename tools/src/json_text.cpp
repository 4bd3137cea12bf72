#include "json_text.hpp"

#include <algorithm>

namespace corewise::command {

namespace {

std::string dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

bool is_flat(const json& value) {
  return std::none_of(value.begin(), value.end(),
                      [](const json& v) { return v.is_structured() && !v.empty(); });
}

void append(std::string& text, const json& value, std::size_t indent);

void append_flat(std::string& text, const json& value) {
  text += value.is_object() ? '{' : '[';
  bool first = true;
  for (const auto& [key, item] : value.items()) {
    if (!std::exchange(first, false)) text += ", ";
    if (value.is_object()) text += dump(key) + ": ";
    text += dump(item);
  }
  text += value.is_object() ? '}' : ']';
}

void append_nested(std::string& text, const json& value, std::size_t indent) {
  text += value.is_object() ? '{' : '[';
  bool first = true;
  for (const auto& [key, item] : value.items()) {
    text += std::exchange(first, false) ? "\n" : ",\n";
    text.append(indent + 2, ' ');
    if (value.is_object()) text += dump(key) + ": ";
    append(text, item, indent + 2);
  }
  text += '\n';
  text.append(indent, ' ');
  text += value.is_object() ? '}' : ']';
}

void append(std::string& text, const json& value, std::size_t indent) {
  if (!value.is_structured())
    text += dump(value);
  else if (indent > 0 && is_flat(value)) // the outermost is a page, not a line
    append_flat(text, value);
  else
    append_nested(text, value, indent);
}

} // namespace

std::string text_of(const json& value) {
  std::string text;
  append(text, value, 0);
  return text + '\n';
}

} // namespace corewise::command
