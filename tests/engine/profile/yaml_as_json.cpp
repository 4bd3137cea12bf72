#include "yaml_as_json.hpp"

#include "document.hpp"

#include <regex>
#include <stdexcept>

namespace corewise::tests {

namespace {

using detail::document_node;
using nlohmann::json;

json scalar(const document_node& node) {
  static const std::regex integer("[-+]?[0-9]+");
  static const std::regex number("[-+]?(\\.[0-9]+|[0-9]+(\\.[0-9]*)?)([eE][-+]?[0-9]+)?");
  if (node.in_quotes) return node.text;
  if (node.text == "true") return true;
  if (node.text == "false") return false;
  if (std::regex_match(node.text, integer)) return std::stoll(node.text);
  if (std::regex_match(node.text, number)) return std::stod(node.text);
  return node.text;
}

json value(const document_node& node) {
  if (node.what == document_node::sort::nothing) return nullptr;
  if (node.what == document_node::sort::scalar) return scalar(node);
  if (node.what == document_node::sort::list) {
    json items = json::array();
    for (const document_node& child : node.children) items.push_back(value(child));
    return items;
  }
  json entries = json::object();
  for (const document_node& child : node.children) entries[child.key] = value(child);
  return entries;
}

} // namespace

nlohmann::json yaml_as_json(const std::string& yaml) {
  detail::issue_list issues("yaml");
  const document_node document = read_document(detail::document_text(yaml), issues);
  std::move(issues).throw_if_any();
  return value(document);
}

} // namespace corewise::tests
