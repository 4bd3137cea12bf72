#include "recorded_host.hpp"

#include <corewise/topology/discovery.hpp>
#include <corewise/topology/firmware_speeds.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

using namespace corewise;

namespace {

using percents = std::vector<std::uint32_t>;

topology machine_of(const tests::recorded_host& host) {
  machine_description d;
  d.source = live_source{host.root()};
  return discover(d);
}

/// What an engine sees of four CPUs in two groups.
struct watched {
  explicit watched(const tests::recorded_host& host)
      : machine(machine_of(host)),
        groups(machine, {}),
        firmware(host.root(), machine, groups) {}

  topology machine;
  locality_groups groups;
  firmware_speeds firmware;
};

void all_perform(const tests::recorded_host& host, const char* figure, const char* is) {
  for (int cpu = 0; cpu < 4; ++cpu) host.performance(cpu, figure, is);
}

} // namespace

TEST_CASE("firmware speeds: a group has kept what its slowest figure has, of what it was at the start") {
  const tests::recorded_host host(4);
  all_perform(host, "highest_perf", "400");
  all_perform(host, "guaranteed_perf", "200");
  host.performance(2, "highest_perf", "300"); // slower from the start on: its capacity says so
  watched seen(host);
  REQUIRE(seen.groups.size() == 2);
  CHECK(seen.firmware.read().empty());
  host.performance(1, "highest_perf", "300");
  CHECK(seen.firmware.read() == percents{75, 100});
  host.performance(0, "guaranteed_perf", "100");
  host.performance(3, "guaranteed_perf", "160");
  CHECK(seen.firmware.read() == percents{50, 80});
  all_perform(host, "highest_perf", "500");
  all_perform(host, "guaranteed_perf", "200");
  CHECK(seen.firmware.read().empty()); // more than at the start is not more
}

TEST_CASE("firmware speeds: what cannot be read counts as it was, and what was not there is not looked for") {
  const tests::recorded_host host(4);
  host.performance(0, "highest_perf", "400");
  host.performance(2, "guaranteed_perf", "0"); // not told
  watched seen(host);
  host.performance(0, "highest_perf", "200");
  host.performance(2, "highest_perf", "1");
  host.performance(2, "guaranteed_perf", "1");
  CHECK(seen.firmware.read() == percents{50, 100});
  const std::filesystem::path file = host.root() + "/sys/devices/system/cpu/cpu0/acpi_cppc/highest_perf";
  SUBCASE("gone") { std::filesystem::remove(file); }
  SUBCASE("nonsense") { host.performance(0, "highest_perf", "much"); }
  SUBCASE("none") { host.performance(0, "highest_perf", "0"); }
  CHECK(seen.firmware.read() == percents{50, 100});
}

TEST_CASE("firmware speeds: a ranking of cores is no speed") {
  const tests::recorded_host host(4);
  all_perform(host, "highest_perf", "236");
  bool ranked = true;
  SUBCASE("of AMD's") {
    host.write("sys/devices/system/cpu/modalias", "cpu:type:x86,ven0002fam001Amod0044:f");
  }
  SUBCASE("of Hygon's") {
    host.write("sys/devices/system/cpu/modalias", "cpu:type:x86,ven0009fam0018mod0001:f");
  }
  SUBCASE("as the driver says") {
    host.write("sys/devices/system/cpu/cpu0/cpufreq/amd_pstate_prefcore_ranking", "236\n");
  }
  SUBCASE("but Intel's is a speed") {
    host.write("sys/devices/system/cpu/modalias", "cpu:type:x86,ven0000fam0006mod00B7:f");
    ranked = false;
  }
  watched seen(host);
  all_perform(host, "highest_perf", "118");
  CHECK(seen.firmware.read() == (ranked ? percents{} : percents{50, 50}));
}
