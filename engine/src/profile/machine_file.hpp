#pragma once

#include "field.hpp"

#include <corewise/topology/discovery.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace corewise::detail {

/// A machine that is described by hand.
struct machine_file {
  std::uint32_t version = 1;
  std::string name = "machine";
  machine_source source;
  std::vector<kind_description> kinds;
  std::vector<std::vector<std::uint32_t>> distances;
  machine_costs costs; ///< `costs` and `energy`
};

const field_table<machine_file>& machine_fields();

/// Reads the text of a machine file. Relative paths in it begin at `folder`; without a folder they stay as they
/// are. Throws `profile_error` with all errors, and where the text is XML.
machine_file parse_machine_file(std::string_view yaml, const std::string& name,
                                const std::filesystem::path* folder = nullptr);

/// Returns whether a text begins as XML does.
bool begins_as_xml(std::string_view text) noexcept;

} // namespace corewise::detail
