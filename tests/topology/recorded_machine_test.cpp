#include "temporary_tree.hpp"

#include <corewise/topology/discovery.hpp>
#include <corewise/topology/error.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace corewise;
using corewise::tests::temporary_tree;

namespace {

const std::string cpu_folder = "sys/devices/system/cpu/";

std::string cpu_file(int cpu, const std::string& file) {
  return (std::filesystem::path(cpu_folder) / ("cpu" + std::to_string(cpu)) / file).string();
}

void write_cpu(const temporary_tree& host, int cpu, int package, const std::string& core,
               const std::string& llc) {
  const auto folder = cpu_folder + "cpu" + std::to_string(cpu) + "/";
  host.write(folder + "topology/physical_package_id", std::to_string(package) + "\n");
  host.write(folder + "topology/core_cpus_list", core + "\n");
  const auto cache = [&](int index, int level, const std::string& type, const std::string& cpus) {
    const auto at = folder + "cache/index" + std::to_string(index) + "/";
    host.write(at + "level", std::to_string(level) + "\n");
    host.write(at + "type", type + "\n");
    host.write(at + "shared_cpu_list", cpus + "\n");
  };
  cache(0, 1, "Data", core);
  cache(1, 1, "Instruction", core);
  cache(2, 3, "Unified", llc);
}

/// A process that may use all CPUs, and is in no control group.
void write_process(const temporary_tree& host) {
  host.write("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-1023\n");
  host.write("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
  host.write("proc/self/cgroup", "0::/\n");
}

/// Two sockets of two cores; the first socket's have two threads.
temporary_tree two_sockets() {
  temporary_tree host;
  write_process(host);
  host.write(cpu_folder + "online", "0-5\n");
  for (const int cpu : {0, 4}) write_cpu(host, cpu, 0, "0,4", "0-1,4-5");
  for (const int cpu : {1, 5}) write_cpu(host, cpu, 0, "1,5", "0-1,4-5");
  for (const int cpu : {2, 3}) write_cpu(host, cpu, 1, std::to_string(cpu), "2-3");
  const std::string nodes = "sys/devices/system/node/";
  host.write(nodes + "node0/cpulist", "0-1,4-5\n");
  host.write(nodes + "node0/meminfo", "Node 0 MemTotal:       1024 kB\nNode 0 MemFree:  10 kB\n");
  host.write(nodes + "node0/distance", "10 21 40\n");
  host.write(nodes + "node3/cpulist", "2-3\n");
  host.write(nodes + "node3/meminfo", "Node 3 MemTotal:       2048 kB\n");
  host.write(nodes + "node3/distance", "21 10 41\n");
  host.write(nodes + "node4/cpulist", "\n");
  host.write(nodes + "node4/distance", "40 41 10\n");
  return host;
}

topology discover_in(const temporary_tree& host) {
  machine_description description;
  description.source = live_source{host.root()};
  return discover(description);
}

bool has_warning(const topology& machine, const std::string& part) {
  return std::ranges::any_of(machine.warnings(),
                             [&](const std::string& w) { return w.find(part) != std::string::npos; });
}

} // namespace

TEST_CASE("recorded machine: packages, cores, caches and nodes come from sysfs") {
  const auto host = two_sockets();
  const auto machine = discover_in(host);
  CHECK_FALSE(machine.is_this_system());
  CHECK(machine.source() == "live:" + host.root().string());
  CHECK(machine.cpus().to_string() == "0-5");
  REQUIRE(machine.packages().size() == 2);
  CHECK(machine.packages()[0].cpus.to_string() == "0-1,4-5");
  CHECK(machine.packages()[1].id == 1);
  REQUIRE(machine.cores().size() == 4);
  CHECK(machine.cores()[0].cpus.to_string() == "0,4");
  CHECK(machine.cores()[3].cpus.to_string() == "3");
  REQUIRE(machine.llcs().size() == 2);
  CHECK(machine.llcs()[1].level == 3);
  CHECK(machine.llcs()[1].cpus.to_string() == "2-3");
  REQUIRE(machine.nodes().size() == 3);
  CHECK(machine.nodes()[1].os_index == 3);
  CHECK(machine.nodes()[1].memory_bytes == 2048 * 1024);
  CHECK(machine.nodes()[2].cpus.empty());
  CHECK(machine.distance(0, 2) == 40);
  CHECK(machine.distance(2, 1) == 41);
  CHECK(machine.warnings().empty());
}

TEST_CASE("recorded machine: of old kernels, which have masks and no lists, the same is read") {
  const temporary_tree host;
  write_process(host);
  host.write(cpu_folder + "online", "0-1,32-33\n");
  for (const int cpu : {0, 1, 32, 33}) {
    const auto folder = cpu_folder + "cpu" + std::to_string(cpu) + "/";
    const bool even = cpu % 2 == 0;
    host.write(folder + "topology/physical_package_id", "0\n");
    host.write(folder + "topology/thread_siblings", even ? "00000001,00000001\n" : "00000002,00000002\n");
    host.write(folder + "cache/index0/level", "2\n");
    host.write(folder + "cache/index0/type", "Unified\n");
    host.write(folder + "cache/index0/shared_cpu_map", even ? "1,00000001\n" : "00000002,00000002\n");
  }
  host.write("sys/devices/system/node/node0/cpumap", "00000000,00000003,00000003\n");
  const auto machine = discover_in(host);
  REQUIRE(machine.cores().size() == 2);
  CHECK(machine.cores()[1].cpus.to_string() == "1,33");
  REQUIRE(machine.llcs().size() == 2);
  CHECK(machine.llcs()[0].cpus.to_string() == "0,32");
  REQUIRE(machine.nodes().size() == 1);
  CHECK(machine.nodes()[0].cpus.to_string() == "0-1,32-33");
  CHECK(machine.warnings().empty());
  host.write(cpu_folder + "cpu1/topology/thread_siblings", "0000000g\n");
  CHECK(has_warning(discover_in(host), "cpu1/topology/thread_siblings makes no sense"));
}

TEST_CASE("recorded machine: what makes no sense is told") {
  const temporary_tree host;
  write_process(host);
  host.write(cpu_folder + "online", "0-\n");
  host.write(cpu_folder + "cpu0/topology/physical_package_id", "0\n");
  host.write("sys/devices/system/node/node0/cpumap", "00000001\n");
  CHECK(has_warning(discover_in(host), "cpu/online has no list of CPUs"));
  host.write(cpu_folder + "online", "0\n");
  for (const char* distance : {"-1\n", "0\n", "ten\n"}) {
    host.write("sys/devices/system/node/node0/distance", distance);
    CHECK(has_warning(discover_in(host), "node0/distance makes no sense"));
  }
  host.write("sys/devices/system/node/node0/distance", "10\n");
  CHECK(discover_in(host).warnings().empty());
}

TEST_CASE("recorded machine: usable CPUs are online, in the affinity mask and in the control group") {
  const auto host = two_sockets();
  host.write(cpu_folder + "online", "0-4\n");
  host.write("proc/self/status", "Name:\tx\nCpus_allowed_list:\t1-5\n");
  host.write("proc/self/mountinfo", "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
  host.write("proc/self/cgroup", "0::/a\n");
  host.write("cg/a/cpuset.cpus.effective", "0-2,4\n");
  host.write("cg/a/cpu.max", "150000 100000\n");
  const auto machine = discover_in(host);
  CHECK(machine.cpus().to_string() == "1-2,4");
  CHECK(machine.limits().affinity->to_string() == "1-5");
  CHECK(machine.limits().cpuset->to_string() == "0-2,4");
  CHECK(machine.limits().quota_cpus == doctest::Approx(1.5));
  REQUIRE(machine.cores().size() == 3);
  CHECK(machine.cores()[0].cpus.to_string() == "4");
}

TEST_CASE("recorded machine: where no list says which CPUs are online, each says it for itself") {
  const auto host = two_sockets();
  std::filesystem::remove(host.root() / (cpu_folder + "online"));
  host.write(cpu_folder + "cpu1/online", "0\n");
  host.write(cpu_folder + "cpu2/online", "1\n");
  const auto machine = discover_in(host);
  CHECK_FALSE(machine.cpus().contains(1));
  CHECK(machine.cpus().contains(0));
  CHECK(machine.cpus().contains(2));
}

TEST_CASE(
    "recorded machine: each part of /proc and /sys that is hidden is a warning that says what is unknown") {
  const auto warnings_without = [](const std::vector<std::string>& hidden) {
    const auto host = two_sockets();
    for (const std::string& file : hidden) std::filesystem::remove_all(host.root() / file);
    const auto machine = discover_in(host);
    std::string all;
    for (const std::string& w : machine.warnings()) {
      REQUIRE(w.starts_with(host.root().string() + "/"));
      all += w.substr(host.root().string().size()) + "\n";
    }
    return all;
  };
  CHECK(warnings_without({}).empty());
  CHECK(
      warnings_without({"proc/self/status"}) ==
      "/proc/self/status cannot be read: the affinity mask, the CPUs that this thread may use, is unknown\n");
  const std::string group = " cannot be read: the CPUs and the quota of the control group are unknown\n";
  CHECK(warnings_without({"proc/self/mountinfo"}) == "/proc/self/mountinfo" + group);
  CHECK(warnings_without({"proc/self/cgroup"}) == "/proc/self/cgroup" + group);
  CHECK(warnings_without({cpu_folder + "online"}) ==
        "/sys/devices/system/cpu/online cannot be read: the CPUs that are online are unknown\n");
  CHECK(std::ranges::count(warnings_without({"proc"}), '\n') == 2);

  const auto host = two_sockets();
  host.write("proc/self/status", "Name:\tx\n");
  CHECK(has_warning(discover_in(host),
                    "/proc/self/status has no list of allowed CPUs: the affinity mask is unknown"));
}

TEST_CASE("recorded machine: limits that leave no CPU are an error that names them") {
  const auto host = two_sockets();
  host.write("proc/self/status", "Name:\tx\nCpus_allowed_list:\t8-9\n");
  CHECK_THROWS_WITH_AS(discover_in(host), doctest::Contains("affinity mask (8-9)"), topology_error);
}

TEST_CASE("recorded machine: a root without CPUs is an error, not this machine") {
  const temporary_tree host;
  CHECK_THROWS_WITH_AS(discover_in(host), doctest::Contains("there is no CPU below"), topology_error);
}

TEST_CASE("recorded machine: core types of sysfs make kinds, with clock and type as capacity") {
  const auto host = two_sockets();
  host.write("sys/devices/cpu_core/cpus", "0-1,4-5\n");
  host.write("sys/devices/cpu_atom/cpus", "2\n");
  host.write("sys/devices/cpu_lowpower/cpus", "3\n");
  for (int cpu = 0; cpu < 6; ++cpu)
    host.write(cpu_folder + "cpu" + std::to_string(cpu) + "/cpufreq/cpuinfo_max_freq", cpu == 2 ? "4000000\n"
                                                                                       : cpu == 3
                                                                                           ? "2000000\n"
                                                                                           : "5000000\n");
  const auto machine = discover_in(host);
  REQUIRE(machine.kinds().size() == 3);
  CHECK(machine.kinds()[0].name == "LP-E");
  CHECK(machine.kinds()[0].capacity == 164); // .4 × 2 / 5
  CHECK(machine.kinds()[1].name == "E");
  CHECK(machine.kinds()[1].capacity == 492); // .6 × 4 / 5
  CHECK(machine.kinds()[2].cpus.to_string() == "0-1,4-5");
}

TEST_CASE(
    "recorded machine: a kind begins at a gap between clocks, not at a distance from the fastest core") {
  const temporary_tree host;
  const auto clocks = [&](const std::vector<int>& mhz) {
    host.write(cpu_folder + "online", "0-" + std::to_string(mhz.size() - 1) + "\n");
    for (int cpu = 0; cpu < std::ssize(mhz); ++cpu)
      host.write(cpu_file(cpu, "cpufreq/cpuinfo_max_freq"),
                 std::to_string(mhz[static_cast<std::size_t>(cpu)] * 1000));
    return discover_in(host).kinds().size();
  };
  std::vector<int> bins;
  for (double mhz = 7000; mhz > 4000; mhz /= 1.03) bins.push_back(static_cast<int>(mhz));
  CHECK(clocks(bins) == 1); // turbo bins of one kind
  CHECK(clocks({5200, 5000, 4800, 3600, 3500}) == 2);
}

TEST_CASE("recorded machine: clocks that are far apart make kinds where nominal performance does not") {
  const temporary_tree host;
  host.write(cpu_folder + "online", "0-1\n");
  const auto write = [&](int cpu, int nominal, int max, int base) {
    host.write(cpu_file(cpu, "acpi_cppc/nominal_perf"), std::to_string(nominal));
    host.write(cpu_file(cpu, "cpufreq/cpuinfo_max_freq"), std::to_string(max * 1000));
    host.write(cpu_file(cpu, "cpufreq/base_frequency"), std::to_string(base * 1000));
  };
  write(0, 24, 5000, 1900);
  write(1, 19, 3900, 1400);
  CHECK(discover_in(host).kinds().size() == 2);
  write(1, 19, 3900, 1900); // one of the clocks alone tells turbo bins apart
  CHECK(discover_in(host).kinds().size() == 1);
}

TEST_CASE("recorded machine: cpu_capacity wins over CPPC, and CPPC over the clock") {
  const auto host = two_sockets();
  const auto write = [&](const std::string& file, const std::string& fast, const std::string& slow) {
    for (int cpu = 0; cpu < 6; ++cpu) host.write(cpu_file(cpu, file), (cpu == 2 || cpu == 3) ? slow : fast);
  };
  write("cpufreq/cpuinfo_max_freq", "4000000", "2000000");
  CHECK(discover_in(host).kinds()[0].capacity == 512);
  CHECK(discover_in(host).kinds()[0].source == "frequency, assumed");
  write("acpi_cppc/nominal_perf", "100", "70");
  CHECK(discover_in(host).kinds()[0].capacity == 717);
  CHECK(discover_in(host).kinds()[0].source == "CPPC nominal");
  write("cpu_capacity", "1024", "400");
  CHECK(discover_in(host).kinds()[0].capacity == 400);
  CHECK(discover_in(host).kinds()[0].source == "cpu_capacity");
}

TEST_CASE("recorded machine: ARM part numbers tell designs apart at equal capacity") {
  const auto host = two_sockets();
  for (int cpu = 0; cpu < 6; ++cpu) {
    const auto folder = cpu_folder + "cpu" + std::to_string(cpu) + "/";
    host.write(folder + "cpu_capacity", "1024\n");
    host.write(folder + "regs/identification/midr_el1",
               (cpu == 2 || cpu == 3) ? "0x00000000411fd070\n" : "0x00000000411fd080\n");
  }
  const auto machine = discover_in(host);
  REQUIRE(machine.kinds().size() == 2);
  CHECK(machine.kinds()[0].capacity == 1024);
  CHECK((machine.kinds()[0].cpus.to_string() == "2-3" || machine.kinds()[1].cpus.to_string() == "2-3"));
}

TEST_CASE("recorded machine: invalid content of sysfs is ignored with a warning") {
  const auto host = two_sockets();
  host.write("sys/devices/cpu_atom/cpus", "nonsense\n");
  host.write(cpu_folder + "cpu0/cpu_capacity", "\n");
  host.write(cpu_folder + "cpu1/cpu_capacity", "-5\n");
  host.write(cpu_folder + "cpu2/cpufreq/cpuinfo_max_freq", "99999999999999999999999\n");
  host.write(cpu_folder + "cpu3/regs/identification/midr_el1", "0xzz\n");
  host.write(cpu_folder + "cpu3/cache/index2/shared_cpu_list", "\n");
  host.write("sys/devices/system/node/node0/distance", "10 x\n");
  const auto machine = discover_in(host);
  CHECK(machine.kinds().size() == 1);
  CHECK_FALSE(machine.distances().has_value());
  CHECK(has_warning(machine, "cpu_atom/cpus and 3 other such files makes no sense"));
}
