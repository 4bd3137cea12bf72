#pragma once

#include "description_fields.hpp"

#include <corewise/engine/profile.hpp>

#include <utility>

// How the rows of a profile's table of fields are written.

/// A generic function to a member of the profile, which serves to write and to read it.
#define COREWISE_AT(member) [](auto& p) -> auto& { return p.member; }

namespace corewise::detail {

using row = field<profile>;
using rows = field_table<profile>;

inline constexpr auto live = change::live;
inline constexpr auto restart = change::restart;

struct row_text {
  std::string unit = {};
  std::string description = {};
  std::string note = {};
  std::string form = {};
  std::string default_text = {};
};

inline row with(row r, change changes, row_text text) {
  r.facts.changes = changes;
  r.facts.unit = std::move(text.unit);
  r.facts.description = std::move(text.description);
  r.facts.note = std::move(text.note);
  r.facts.form = std::move(text.form);
  r.facts.default_text = std::move(text.default_text);
  return r;
}

/// The rows of `topology`, without its source, kinds and distances.
rows topology_rows();

/// The rows of `queues` and `injection`.
rows queue_rows();

} // namespace corewise::detail
