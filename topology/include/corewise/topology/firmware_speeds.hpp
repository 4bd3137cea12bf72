#pragma once

#include <corewise/topology/groups.hpp>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace corewise {

/// The performance of cores by the firmware now, as a part of that at the start (CPPC: acpi_cppc/highest_perf and
/// guaranteed_perf, the two figures that may change while a machine runs). The highest performance of AMD's processors is
/// a ranking, which says in which order the kernel should fill cores and nothing of their speed: it is not read. Call from
/// one thread at a time. Source: the ACPI specification 6.5, 8.4.6.1; the kernel's cppc_sysfs.rst and amd-pstate.rst.
class firmware_speeds {
 public:
  /// Notes what it says now, below `root`, of the first and the last core of each group. Cost: as `read`, but for the files
  /// that are missing, which are not tried again. Throws `std::bad_alloc`.
  firmware_speeds(const std::filesystem::path& root, const topology& machine, const locality_groups& groups);

  /// Returns the part of its performance that each group has kept, in percent, in steps of five, by the figure that has
  /// fallen most; empty: all of it. A figure that cannot be read now counts as it was read last. Cost: at most four files a
  /// group, 10 us each; an interrupt of the core, or a message to the firmware, for each. Throws `std::bad_alloc`.
  std::vector<std::uint32_t> read();

 private:
  struct figure {
    std::uint32_t group;
    std::filesystem::path file;
    std::uint64_t at_begin;
    std::uint64_t last;
  };
  std::size_t groups_;
  std::vector<figure> figures_;
};

} // namespace corewise
