#include "sysfs.hpp"

#include <corewise/topology/firmware_speeds.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace corewise {

namespace {

namespace fs = std::filesystem;

/// Returns a number that means something; 0: there is none.
std::uint64_t number_in(const fs::path& file) {
  const auto text = detail::read_text(file);
  return text ? detail::parse_number(*text).value_or(0) : 0;
}

/// Returns whether the highest performance of a CPU is a ranking: on AMD's and Hygon's processors, whatever the driver, as
/// the kernel writes their vendors.
bool ranks_cores(const fs::path& cpus, std::uint32_t cpu) {
  const std::string model = detail::read_text(cpus / "modalias").value_or("");
  return model.find(",ven0002") != std::string::npos || model.find(",ven0009") != std::string::npos ||
         number_in(cpus / fmt::format("cpu{}/cpufreq/amd_pstate_prefcore_ranking", cpu)) != 0;
}

} // namespace

firmware_speeds::firmware_speeds(const fs::path& root, const topology& machine, const locality_groups& groups)
    : groups_(groups.size()) {
  const fs::path cpus = root / "sys/devices/system/cpu";
  const auto note = [&](const locality_group& g, std::uint32_t cpu, const char* name) {
    fs::path file = cpus / fmt::format("cpu{}/acpi_cppc/{}", cpu, name);
    if (const std::uint64_t now = number_in(file); now != 0)
      figures_.push_back({g.id.value, std::move(file), now, now});
  };
  const bool ranked = ranks_cores(cpus, machine.cpus().first());
  for (const locality_group& g : groups.groups())
    for (const std::uint32_t core : {g.cores.front(), g.cores.back()}) {
      const std::uint32_t cpu = machine.cores()[core].cpus.first();
      if (!ranked) note(g, cpu, "highest_perf");
      note(g, cpu, "guaranteed_perf");
    }
}

std::vector<std::uint32_t> firmware_speeds::read() {
  std::vector<std::uint32_t> kept(groups_, 100);
  for (figure& f : figures_) {
    if (const std::uint64_t now = number_in(f.file); now != 0) f.last = now;
    kept[f.group] = std::min(kept[f.group], detail::percent_of(f.last, f.at_begin));
  }
  if (std::ranges::all_of(kept, [](std::uint32_t k) { return k == 100; })) kept.clear();
  return kept;
}

} // namespace corewise
