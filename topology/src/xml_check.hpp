#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace corewise::detail {

/// What keeps hwloc from reading an XML text safely; nothing when it may try. hwloc trusts the text more than one may:
/// it crashes on damaged tags, on objects without their sets, and on deep nesting.
/// Checked are the syntax of tags and attributes, their nesting and the attributes that every machine object needs;
/// not the machine. Cost: linear.
std::optional<std::string> xml_fault(std::string_view text);

} // namespace corewise::detail
