#pragma once

#include "document_text.hpp"

#include <string>
#include <vector>

namespace corewise::detail {

/// One value of a YAML document, with its position. The reader refuses all other features of YAML (anchors,
/// aliases, tags, keys that are not names), so no later step meets them.
struct document_node {
  enum class sort { nothing, scalar, list, map } what = sort::nothing;
  text_position at;
  std::string key; ///< in a map
  text_position key_at;
  std::string text;       ///< of a scalar
  bool in_quotes = false; ///< of a scalar: also block scalars, which are text as well
  bool refused = false;   ///< it has an error other than its value, which has been reported
  std::vector<document_node> children;
};

/// Deepest and largest document. Profiles need 4 levels and 100 values; a machine file with 128 nodes has
/// 16,384 distances.
inline constexpr std::size_t document_depth_max = 32;
inline constexpr std::size_t document_nodes_max = 20'000;
/// Longest scalar, in bytes.
inline constexpr std::size_t scalar_bytes_max = 4096;

/// Reads the one document in `text`. Returns `nothing` for an empty document, and after a syntax error. Adds
/// errors to `issues`.
document_node read_document(const document_text& text, issue_list& issues);

} // namespace corewise::detail
