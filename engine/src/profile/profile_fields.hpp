#pragma once

#include "field.hpp"

#include <corewise/engine/profile.hpp>

namespace corewise::detail {

/// The table of a profile's fields, in the order in which people read them. From it come the checks, the
/// schema and docs/profile.md; adding a field is adding its row here.
const field_table<profile>& profile_fields();

} // namespace corewise::detail
