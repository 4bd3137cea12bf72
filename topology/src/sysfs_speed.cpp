#include "sysfs_speed.hpp"

#include "sysfs.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace corewise::detail {
namespace {

/// The CPUs about which two sources differ in one thing.
struct difference {
  const char* what;
  cpu_set cpus;
};

class speed_reader {
 public:
  speed_reader(const std::filesystem::path& root, machine_scan& scan) : tree_(root), scan_(scan) {}

  void read() {
    const auto cpus = scan_.cpus.to_vector();
    if (!cpus.empty() && scan_.traits.size() <= cpus.back()) scan_.traits.resize(cpus.back() + 1);
    read_types();
    for (const auto cpu : cpus) read_cpu(cpu);
    for (const auto& d : {types_, parts_, capacities_, clocks_}) report(d);
    for (auto& complaint : tree_.complaints()) scan_.warnings.push_back(std::move(complaint));
  }

 private:
  void read_types() {
    for (const auto* type : {"core", "atom", "lowpower"})
      for (const auto cpu :
           tree_.cpus(fmt::format("sys/devices/cpu_{}/cpus", type)).value_or(cpu_set{}).to_vector())
        if (scan_.cpus.contains(cpu)) believe(scan_.traits[cpu].core_type, std::string(type), cpu, types_);
  }

  void read_cpu(std::uint32_t cpu) {
    const auto directory = fmt::format("sys/devices/system/cpu/cpu{}/", cpu);
    auto& traits = scan_.traits[cpu];
    if (const auto capacity = positive(directory + "cpu_capacity"))
      believe(traits.capacity, *capacity, cpu, capacities_);
    if (const auto nominal = positive(directory + "acpi_cppc/nominal_perf")) traits.nominal = *nominal;
    if (const auto max = positive(directory + "cpufreq/cpuinfo_max_freq"))
      believe_clock(traits.max_mhz, *max / 1000, cpu);
    if (const auto base = positive(directory + "cpufreq/base_frequency"))
      believe_clock(traits.base_mhz, *base / 1000, cpu);
    if (const auto midr = tree_.text(directory + "regs/identification/midr_el1"))
      read_part(traits, *midr, cpu);
  }

  /// Reads ARM's part number: bits 4 to 15 of MIDR_EL1.
  void read_part(cpu_traits& traits, const std::string& midr, std::uint32_t cpu) {
    if (!midr.starts_with("0x")) return;
    std::uint64_t value = 0;
    const auto parsed = std::from_chars(midr.data() + 2, midr.data() + midr.size(), value, 16);
    if (parsed.ec != std::errc{} || value == 0) return;
    believe(traits.part, fmt::format("0x{:x}", value >> 4 & 0xfff), cpu, parts_);
  }

  std::optional<std::uint32_t> positive(const std::string& file) {
    const auto value = tree_.number(file);
    if (!value || *value == 0 || *value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    return static_cast<std::uint32_t>(*value);
  }

  template <class Value> static void believe(Value& known, Value told, std::uint32_t cpu, difference& d) {
    if (known != Value{} && known != told) d.cpus.insert(cpu);
    known = std::move(told);
  }

  /// Takes sysfs's clock and notes a difference. hwloc lowers turbo clocks by up to a tenth on purpose; that
  /// is no difference.
  void believe_clock(std::uint32_t& known, std::uint32_t mhz, std::uint32_t cpu) {
    const auto apart = known > mhz ? known - mhz : mhz - known;
    if (known != 0 && std::uint64_t{apart} * 10 > mhz) clocks_.cpus.insert(cpu);
    if (mhz != 0) known = mhz;
  }

  void report(const difference& d) {
    if (d.cpus.empty()) return;
    scan_.warnings.push_back(
        fmt::format("hwloc and sysfs differ in the {} of CPUs {}; the value of sysfs counts", d.what,
                    d.cpus.to_string()));
  }

  fact_tree tree_;
  machine_scan& scan_;
  difference types_{"core type", {}};
  difference parts_{"part number", {}};
  difference capacities_{"cpu_capacity", {}};
  difference clocks_{"clock", {}};
};

} // namespace

void read_sysfs_speeds(const std::filesystem::path& root, machine_scan& scan) {
  speed_reader(root, scan).read();
}

} // namespace corewise::detail
