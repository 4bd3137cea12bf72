#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace corewise::detail {

/// Returns what keeps hwloc from reading an XML text safely; nothing when hwloc may try. hwloc trusts its
/// text too much: it crashes on damaged tags, on objects without their sets, and on deep nesting.
/// Checks the syntax of tags and attributes, their nesting and the attributes that every machine object
/// needs, and counts the objects (`machine_size.hpp`); not the machine. Cost: linear.
std::optional<std::string> xml_fault(std::string_view text);

} // namespace corewise::detail
