#pragma once

#include "contradictions.hpp"
#include "document.hpp"
#include "shape_reader.hpp"

#include <string_view>

namespace corewise::detail {

/// Reads a document into a struct by the table of its fields. Adds errors to `issues`. Returns the positions
/// of the fields that the document has.
template <class Target>
std::map<std::string, text_position> read_fields(std::string_view text, const field_table<Target>& table,
                                                 Target& into, issue_list& issues) {
  const document_text checked(text);
  if (!checked.check(issues)) return {};
  const document_node document = read_document(checked, issues);
  const fact_list facts = facts_of(table);
  shape_reader reader(facts, issues, [&](std::size_t field, const element& e, const setting& v) {
    table[field].set(into, e, v);
  });
  // After a syntax error there is nothing to read, and then a required key is not missing.
  if (document.what != document_node::sort::nothing || issues.empty())
    reader.read(document, make_shape(facts));
  return reader.positions();
}

/// Adds contradictions at the positions of their keys, except about fields that are wrong by themselves.
void add_contradictions(const std::vector<contradiction>& found,
                        const std::map<std::string, text_position>& positions, issue_list& issues);

} // namespace corewise::detail
