#pragma once

#include "json_text.hpp"
#include "machine_options.hpp"

namespace corewise::command {

/// The machine as programs like to read it: CPU lists are strings such as "0-3,8", what is unknown is null.
json json_of(const divided_machine& m);

} // namespace corewise::command
