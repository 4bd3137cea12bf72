#pragma once

#include "value_rule.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace corewise::detail {

/// Whether `engine::apply` takes a new value of a field, or the value needs a new engine.
enum class change : std::uint8_t { live, restart };

/// All facts about one field. The checks, the schema and the reference page are made from them.
struct field_facts {
  /// The keys that lead to the field, with `[]` for the items of a list and `*` for keys that the user
  /// chooses: "topology.kinds[].name", "topology.capacity.*".
  std::string path;
  value_rule rule;
  std::string unit; ///< of plain numbers; durations carry theirs
  change changes = change::restart;
  std::string description; ///< one line
  std::string note;        ///< what to know before using it; may be empty
  /// Of the fields beside each other, fields of different forms exclude each other; "" goes with all.
  std::string form;
  bool required = false;
  std::string default_text; ///< what happens without a value, where `profile{}` has none to show
};

/// Says which element a path with `[]` or `*` means: their indices and names, from left to right.
struct element {
  std::vector<std::size_t> indices;
  std::vector<std::string> names;
};

/// Returns the key path of one element: "topology.kinds[2].name".
std::string key_path(std::string_view path, const element& which);

/// A field of the struct `Target`.
template <class Target> struct field {
  using visitor = std::function<void(const element&, const setting&)>;

  field_facts facts;
  /// Puts a value that the rule takes into the struct.
  std::function<void(Target&, const element&, const setting&)> set;
  /// Calls the visitor with each value that the struct has. Does not call it for absent values.
  std::function<void(const Target&, const visitor&)> show;
};

template <class Target> using field_table = std::vector<field<Target>>;

} // namespace corewise::detail
