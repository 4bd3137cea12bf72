#pragma once

#include "field.hpp"

#include <memory>
#include <optional>

namespace corewise::detail {

/// The values that may stand at one position of a document, made from the paths of a table of fields: the
/// value of a field, a map with these keys, a map with any keys, a list, or more than one of these.
struct shape {
  struct entry;

  std::optional<std::size_t> value; ///< index into the table
  std::vector<entry> keys;          ///< in the table's order
  std::unique_ptr<shape> any;       ///< for the keys that the user chooses
  std::unique_ptr<shape> item;

  const entry* find(std::string_view key) const;
  std::vector<std::string> key_names() const;
};

struct shape::entry {
  std::string key;
  shape inner;
};

/// The facts of the fields in a table's order.
using fact_list = std::vector<const field_facts*>;

template <class Target> fact_list facts_of(const field_table<Target>& table) {
  fact_list facts;
  for (const field<Target>& f : table) facts.push_back(&f.facts);
  return facts;
}

/// Returns the shape of a whole document.
shape make_shape(const fact_list& facts);

/// Describes for people what may stand there.
std::string describe(const shape& s, const fact_list& facts);

/// Returns the form of an entry, "" when it goes with all (see `field_facts::form`).
std::string form_of(const shape::entry& e, const fact_list& facts);
bool is_required(const shape::entry& e, const fact_list& facts);

} // namespace corewise::detail
