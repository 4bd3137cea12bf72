#pragma once

#include "field.hpp"

#include <corewise/engine/profile.hpp>

namespace corewise::detail {

/// Returns the table of a profile's fields, in the order in which people read them. The checks, the schema
/// and docs/profile.md are made from it. To add a field, add its row here.
const field_table<profile>& profile_fields();

} // namespace corewise::detail
