#pragma once

#include "issue_list.hpp"

#include <filesystem>
#include <map>

namespace corewise::detail {

/// Makes the path of an XML source, which is relative to `folder`, a path from here. Adds an issue when no
/// such file can be read. `prefix` stands before "source" in the keys.
void resolve_source(machine_source& source, const std::filesystem::path& folder, const std::string& prefix,
                    const std::map<std::string, text_position>& positions, issue_list& issues);

/// Returns for people why a file cannot be read; "" when it can.
std::string why_unreadable(const std::filesystem::path& file);

} // namespace corewise::detail
