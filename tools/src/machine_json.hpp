#pragma once

#include "json_text.hpp"
#include "machine_options.hpp"

namespace corewise::command {

/// Writes the machine as programs like to read it: CPU lists are strings such as "0-3,8", unknown facts are
/// null.
json json_of(const divided_machine& m);

} // namespace corewise::command
