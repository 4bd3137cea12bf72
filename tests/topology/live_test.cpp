#include "child_process.hpp"
#include "temporary_tree.hpp"

#include <corewise/topology/discovery.hpp>
#include <corewise/topology/error.hpp>
#include <corewise/topology/host_allowance.hpp>

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

using namespace corewise;

namespace {

cpu_set kernel_affinity() {
  cpu_set_t mask;
  REQUIRE(::sched_getaffinity(0, sizeof mask, &mask) == 0);
  cpu_set cpus;
  for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mask)) cpus.insert(cpu);
  return cpus;
}

} // namespace

TEST_CASE("live: this machine is discovered with the CPUs that the thread may use") {
  const auto machine = discover({});
  CHECK(machine.source() == "live");
  CHECK(machine.is_this_system());
  CHECK(machine.cpus() == kernel_affinity());
  REQUIRE(machine.limits().affinity.has_value());
  CHECK(*machine.limits().affinity == kernel_affinity());
  CHECK_FALSE(machine.cores().empty());
}

TEST_CASE("live: a smaller affinity mask makes a smaller machine") {
  const auto before = kernel_affinity();
  if (before.size() < 2) {
    MESSAGE("skipped: this process has one CPU");
    return;
  }
  cpu_set_t whole;
  REQUIRE(::sched_getaffinity(0, sizeof whole, &whole) == 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(before.first(), &one);
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  const auto machine = discover({});
  REQUIRE(::sched_setaffinity(0, sizeof whole, &whole) == 0);
  CHECK(machine.cpus() == cpu_set::range(before.first(), before.first()));
  CHECK(machine.cores().size() == 1);
  CHECK(machine.kinds().size() == 1);
}

TEST_CASE("live: a container's own list of online CPUs is not taken for the kernel's") {
  const tests::temporary_tree tree;
  const auto forged = tree.write("online", "7\n"); // as lxcfs shows it, in a file system of its own
  const std::size_t cpus = kernel_affinity().size();
  const pid_t child = tests::child_that([&] {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount(forged.c_str(), "/sys/devices/system/cpu/online", nullptr, MS_BIND, nullptr) != 0)
      std::_Exit(100);
    const topology machine = discover({});
    const bool right =
        machine.cpus() == kernel_affinity() && machine.cores().size() <= cpus && machine.is_this_system();
    const bool told = std::ranges::any_of(
        machine.warnings(), [](const std::string& w) { return w.find("lxcfs") != std::string::npos; });
    const bool followed = read_host_allowance("/").cpus == kernel_affinity();
    std::_Exit(int{!right} + 2 * int{!told} + 4 * int{!followed});
  });
  const int status = tests::exit_status(child);
  if (status == 100)
    MESSAGE("skipped: no name space of mounts can be made here");
  else
    CHECK(status == 0);
}

TEST_CASE("live: sysfs alone shows this machine as hwloc does") {
  if (::access("/sys/devices/system/cpu/cpu0/topology", F_OK) != 0) {
    MESSAGE("skipped: this machine has no CPU topology in sysfs");
    return;
  }
  machine_description through_sysfs;
  through_sysfs.source = live_source{"/."};
  const auto machine = discover(through_sysfs);
  const auto same = discover({});
  CHECK_FALSE(machine.is_this_system());
  CHECK(machine.cpus() == same.cpus());
  CHECK(machine.cores().size() == same.cores().size());
  CHECK(machine.kinds().size() == same.kinds().size());
  CHECK(machine.nodes().size() == same.nodes().size());
}
