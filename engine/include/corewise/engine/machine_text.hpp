#pragma once

#include <corewise/engine/profile.hpp>

#include <string>
#include <string_view>

namespace corewise {

/// Reads the text of a machine file into `into`, as `use_machine` reads the file: the source, the kinds, the distances and
/// the costs. `name` stands for the file in errors. A relative path in the text begins at the working directory. Throws
/// `profile_error`. Call from any thread.
void use_machine_text(machine_description& into, std::string_view yaml, const std::string& name);

} // namespace corewise
