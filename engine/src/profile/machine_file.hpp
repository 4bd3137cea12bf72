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

/// Read a machine file. Both throw `profile_error` with all errors. Relative paths in a file begin at its
/// folder.
machine_file load_machine_file(const std::filesystem::path& file);
machine_file parse_machine_file(std::string_view yaml, const std::string& name);

} // namespace corewise::detail
