#include "limits.hpp"
#include "recorded_host.hpp"
#include "temporary_tree.hpp"

#include <corewise/topology/discovery.hpp>
#include <corewise/topology/host_allowance.hpp>
#include <corewise/topology/thread_limit.hpp>
#include <corewise/topology/throttling.hpp>

#include <doctest/doctest.h>

using namespace corewise;
using corewise::detail::read_limits;
using corewise::tests::temporary_tree;

namespace {

const std::string v2_mount =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

/// A host whose process is in the version 2 group `group`.
temporary_tree v2_host(const std::string& group, const std::string& mounts = v2_mount) {
  temporary_tree host;
  host.write("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + mounts);
  host.write("proc/self/cgroup", "0::" + group + "\n");
  return host;
}

} // namespace

TEST_CASE("limits: a host without limits gives none") {
  const temporary_tree host;
  const auto limits = read_limits(host.root());
  CHECK_FALSE(limits.affinity.has_value());
  CHECK_FALSE(limits.cpuset.has_value());
  CHECK_FALSE(limits.quota_cpus.has_value());
  CHECK_FALSE(detail::read_online_cpus(host.root()).has_value());
}

TEST_CASE("limits: the affinity mask is that of the thread, or otherwise of the process") {
  const temporary_tree host;
  host.write("proc/self/status",
             "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\nMems_allowed_list:\t0\n");
  CHECK(read_limits(host.root()).affinity->to_string() == "0-7");
  host.write("proc/thread-self/status", "Name:\tx\nCpus_allowed_list:\t2,4-5\n");
  CHECK(read_limits(host.root()).affinity->to_string() == "2,4-5");
}

TEST_CASE("limits: garbage gives no limit") {
  const auto host = v2_host("/a");
  host.write("proc/self/status", "Cpus_allowed_list: 0-7\nName:\tx\nCpus_allowed_list:\tnonsense\n");
  host.write("sys/devices/system/cpu/online", "all\n");
  host.write("sys/fs/cgroup/a/cpuset.cpus.effective", "0--3\n");
  host.write("sys/fs/cgroup/a/cpu.max", "lots 100000\n");
  host.write("sys/fs/cgroup/cpu.max", "50000 0\n");
  const auto limits = read_limits(host.root());
  CHECK_FALSE(limits.affinity.has_value());
  CHECK_FALSE(limits.cpuset.has_value());
  CHECK_FALSE(limits.quota_cpus.has_value());
  CHECK_FALSE(detail::read_online_cpus(host.root()).has_value());
}

TEST_CASE("limits: damaged mountinfo and cgroup files give no limit") {
  const temporary_tree host;
  host.write("proc/self/mountinfo", "\n30\n30 23 0:26 /\n30 23 0:26 / /sys/fs/cgroup rw -\n\\\\\\ - - - -\n");
  host.write("proc/self/cgroup", "0\n0:\n::::\n\n");
  CHECK_FALSE(read_limits(host.root()).cpuset.has_value());
  CHECK_FALSE(read_limits(host.root()).quota_cpus.has_value());
}

TEST_CASE("limits: the online CPUs are read") {
  const temporary_tree host;
  host.write("sys/devices/system/cpu/online", "0-3,6\n");
  CHECK(detail::read_online_cpus(host.root())->to_string() == "0-3,6");
}

TEST_CASE(
    "limits: version 2 gives the CPUs of the group, or of an ancestor if the group has none of its own") {
  const auto host = v2_host("/a/b");
  host.write("sys/fs/cgroup/cpuset.cpus.effective", "0-15\n");
  host.write("sys/fs/cgroup/a/cpuset.cpus.effective", "0-7\n");
  CHECK(read_limits(host.root()).cpuset->to_string() == "0-7");
  host.write("sys/fs/cgroup/a/b/cpuset.cpus.effective", "\n");
  CHECK(read_limits(host.root()).cpuset->to_string() == "0-7");
  host.write("sys/fs/cgroup/a/b/cpuset.cpus.effective", "2-3\n");
  CHECK(read_limits(host.root()).cpuset->to_string() == "2-3");
}

TEST_CASE("limits: the quota is the tightest over all ancestors") {
  const auto host = v2_host("/a/b/c");
  host.write("sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
  CHECK_FALSE(read_limits(host.root()).quota_cpus.has_value());
  host.write("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  CHECK(read_limits(host.root()).quota_cpus == doctest::Approx(1.5));
  host.write("sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  CHECK(read_limits(host.root()).quota_cpus == doctest::Approx(1.5));
  host.write("sys/fs/cgroup/a/b/c/cpu.max", "25000 50000\n");
  CHECK(read_limits(host.root()).quota_cpus == doctest::Approx(.5));
}

TEST_CASE("limits: a container sees its group as the root of the mount") {
  const auto host = v2_host("/");
  host.write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  host.write("sys/fs/cgroup/cpuset.cpus.effective", "4-7\n");
  CHECK(read_limits(host.root()).quota_cpus == doctest::Approx(2));
  CHECK(read_limits(host.root()).cpuset->to_string() == "4-7");
}

TEST_CASE("limits: a mount that shows a part of the tree is matched with the group's path") {
  const auto host =
      v2_host("/docker/abc/inner", "30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  host.write("sys/fs/cgroup/inner/cpu.max", "300000 100000\n");
  CHECK(read_limits(host.root()).quota_cpus == doctest::Approx(3));
}

TEST_CASE("limits: control groups that are not visible may have limits too") {
  const auto all = v2_host("/a/b");
  CHECK_FALSE(read_limits(all.root()).part_hidden);
  const auto namespaced = [](const std::string& number) {
    auto host = v2_host("/");
    std::filesystem::create_directories(host.root() / "proc/self/ns");
    std::filesystem::create_symlink("cgroup:[" + number + "]", host.root() / "proc/self/ns/cgroup");
    return host;
  };
  CHECK_FALSE(read_limits(namespaced("4026531835").root()).part_hidden);
  CHECK(read_limits(namespaced("4026532301").root()).part_hidden);
  const auto part = v2_host("/docker/abc", "30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  CHECK(read_limits(part.root()).part_hidden);
  CHECK(read_limits(v2_host("/a/b", "").root()).part_hidden); // no mount
  CHECK(read_limits(v2_host("/../x").root()).part_hidden);
  CHECK_FALSE(read_limits(v2_host("/", "").root()).part_hidden);
}

TEST_CASE("limits: a group outside of the mounted tree has no readable limits") {
  const auto beside =
      v2_host("/docker/other", "30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  beside.write("sys/fs/cgroup/cpu.max", "100000 100000\n");
  CHECK_FALSE(read_limits(beside.root()).quota_cpus.has_value());

  const auto above = v2_host("/../x");
  above.write("sys/fs/cgroup/cpu.max", "100000 100000\n");
  above.write("sys/fs/cgroup/x/cpu.max", "100000 100000\n");
  CHECK_FALSE(read_limits(above.root()).quota_cpus.has_value());
}

TEST_CASE("limits: a mount from above the namespace shows an ancestor, and its own limits count") {
  const auto host = v2_host("/", "30 23 0:26 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  host.write("sys/fs/cgroup/cpu.max", "700000 100000\n");
  CHECK(read_limits(host.root()).quota_cpus == doctest::Approx(7));

  const auto sibling = v2_host("/../x", "30 23 0:26 /.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  sibling.write("sys/fs/cgroup/x/cpu.max", "600000 100000\n");
  CHECK(read_limits(sibling.root()).quota_cpus == doctest::Approx(6));
}

TEST_CASE("limits: among several mounts the one that shows the group itself counts") {
  const auto host = v2_host("/a", "29 23 0:26 / /first rw - cgroup2 cgroup2 rw\n" + v2_mount);
  host.write("first/cpu.max", "100000 100000\n");
  host.write("sys/fs/cgroup/a/cpu.max", "800000 100000\n");
  CHECK(read_limits(host.root()).quota_cpus == doctest::Approx(8));
}

TEST_CASE("limits: of mounts that show the group the one with most of its ancestors counts, whichever comes "
          "first") {
  const std::string above = "29 23 0:26 /../.. /host/cgroup rw - cgroup2 cgroup2 rw\n"; // the host's own tree
  const std::string part = "28 23 0:26 /a /part rw - cgroup2 cgroup2 rw\n";
  for (const std::string& mounts : {above + part + v2_mount, v2_mount + part + above}) {
    const auto host = v2_host("/a/b", mounts);
    host.write("host/cgroup/cpu.stat", "");
    host.write("part/b/cpu.max", "700000 100000\n");
    host.write("sys/fs/cgroup/cpu.max", "300000 100000\n");
    host.write("sys/fs/cgroup/a/b/cpu.max", "700000 100000\n");
    CHECK(read_limits(host.root()).quota_cpus == doctest::Approx(3));
  }
}

TEST_CASE("limits: a mount point with blanks is unescaped") {
  const auto host = v2_host("/a", "30 23 0:26 / /my\\040groups\\134x rw - cgroup2 cgroup2 rw\n");
  host.write("my groups\\x/a/cpu.max", "100000 100000\n");
  CHECK(read_limits(host.root()).quota_cpus == doctest::Approx(1));
}

TEST_CASE("limits: version 1 has a mount for each controller, found by its options") {
  const temporary_tree host;
  host.write("proc/self/mountinfo",
             "31 30 0:27 / /cg/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
             "32 30 0:28 / /cg/cpu,cpuacct rw shared:8 master:1 - cgroup cgroup rw,cpu,cpuacct\n"
             "33 30 0:29 / /cg/cpuset rw - cgroup cgroup rw,cpuset\n");
  host.write("proc/self/cgroup", "12:cpuset:/job\n4:cpu,cpuacct:/user/x\n1:name=systemd:/cpu\n");
  host.write("cg/cpuset/job/cpuset.cpus", "0-3\n");
  host.write("cg/cpu,cpuacct/user/cpu.cfs_quota_us", "250000\n");
  host.write("cg/cpu,cpuacct/user/cpu.cfs_period_us", "100000\n");
  host.write("cg/cpu,cpuacct/user/x/cpu.cfs_quota_us", "-1\n");
  host.write("cg/cpu,cpuacct/user/x/cpu.cfs_period_us", "100000\n");
  const auto limits = read_limits(host.root());
  CHECK(limits.cpuset->to_string() == "0-3");
  CHECK(limits.quota_cpus == doctest::Approx(2.5));
  host.write("cg/cpuset/job/cpuset.effective_cpus", "1-2\n");
  CHECK(read_limits(host.root()).cpuset->to_string() == "1-2");
}

TEST_CASE("limits: a hybrid host has some controllers in version 1 and the others in version 2") {
  const temporary_tree host;
  host.write("proc/self/mountinfo", "32 30 0:28 / /cg/cpu rw - cgroup cgroup rw,cpu\n"
                                    "33 30 0:29 / /cg/unified rw - cgroup2 cgroup2 rw\n");
  host.write("proc/self/cgroup", "4:cpu:/one\n0::/two\n");
  host.write("cg/cpu/one/cpu.cfs_quota_us", "50000\n");
  host.write("cg/cpu/one/cpu.cfs_period_us", "100000\n");
  host.write("cg/unified/two/cpuset.cpus.effective", "5\n");
  const auto limits = read_limits(host.root());
  CHECK(limits.quota_cpus == doctest::Approx(.5));
  CHECK(limits.cpuset->to_string() == "5");
}

TEST_CASE("limits: what is hidden of the affinity mask, the control groups and the CPUs is told") {
  const temporary_tree host;
  const auto told = [&](const std::string& file, const std::string& unknown) {
    return (host.root() / file).string() + " cannot be read: " + unknown;
  };
  CHECK(detail::hidden_facts(host.root(), {}) ==
        std::vector{
            told("proc/self/status", "the affinity mask, the CPUs that this thread may use, is unknown"),
            told("proc/self/mountinfo", "the CPUs and the quota of the control group are unknown"),
            told("sys/devices/system/cpu",
                 "the CPUs that are online, their cores, caches and speeds are unknown")});
}

TEST_CASE("throttling: the counts are those of the tightest quota, in version 2 and 1") {
  const auto v2 = v2_host("/pod/app");
  v2.write("sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
  v2.write("sys/fs/cgroup/pod/cpu.stat",
           "usage_usec 9\nnr_periods 10\nnr_throttled 4\nthrottled_usec 2500\n");
  v2.write("sys/fs/cgroup/pod/app/cpu.max", "max 100000\n");
  v2.write("sys/fs/cgroup/pod/app/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
  const auto seen = read_cpu_throttling(v2.root());
  REQUIRE(seen);
  CHECK(seen->quota_cpus == 1.5);
  CHECK(seen->periods == 10);
  CHECK(seen->throttled_periods == 4);
  CHECK(seen->throttled == std::chrono::microseconds{2500});

  const temporary_tree v1;
  v1.write("proc/self/mountinfo", "31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
  v1.write("proc/self/cgroup", "3:cpu:/\n");
  CHECK_FALSE(read_cpu_throttling(v1.root())->quota_cpus);
  v1.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  v1.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  v1.write("sys/fs/cgroup/cpu/cpu.stat", "nr_periods 7\nnr_throttled 2\nthrottled_time 1500000\n");
  CHECK(read_cpu_throttling(v1.root())->quota_cpus == .5);
  CHECK(read_cpu_throttling(v1.root())->throttled == std::chrono::microseconds{1500});
}

TEST_CASE("throttling: without files nothing is known, and damaged ones end what is read") {
  CHECK_FALSE(read_cpu_throttling(temporary_tree().root()));
  const auto host = v2_host("/a");
  host.write("sys/fs/cgroup/a/cpu.max", "50000 100000\n");
  CHECK_FALSE(read_cpu_throttling(host.root())); // a quota without counts: they are kept
  host.write("sys/fs/cgroup/a/cpu.stat", "nr_periods 3\nnr_throttled many\nthrottled_usec 4\n");
  CHECK(read_cpu_throttling(host.root())->periods == 3);
  CHECK(read_cpu_throttling(host.root())->throttled_periods == 0);
}

TEST_CASE(
    "allowance: the CPUs are those that are online, in the cpuset and in the affinity mask of the thread") {
  const tests::recorded_host host(8);
  CHECK(read_host_allowance(host.root()).cpus.to_string() == "0-7");
  CHECK_FALSE(read_host_allowance(host.root()).quota_cpus.has_value());
  host.allow("1-7");
  host.cpuset("0-5");
  host.online("0,2-7");
  host.quota("150000 100000");
  const host_allowance now = read_host_allowance(host.root());
  CHECK(now.cpus.to_string() == "2-5");
  CHECK(now.cpuset.to_string() == "0,2-5");
  CHECK(now.quota_cpus == 1.5);
}

TEST_CASE("allowance: another thread of the process has a mask of its own") {
  const temporary_tree host;
  host.write("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-7\n");
  host.write("proc/self/task/12/status", "Name:\ty\nCpus_allowed_list:\t3\n");
  CHECK(read_host_allowance(host.root(), 12).cpus.to_string() == "3");
  CHECK(read_host_allowance(host.root(), 13).cpus.to_string() == "0-7");
}

TEST_CASE("allowance: nothing is known where nothing can be read") {
  const temporary_tree host;
  CHECK(read_host_allowance(host.root()) == host_allowance{});
}

TEST_CASE("limits: the number of threads is the least of the control group and its ancestors") {
  const auto host = v2_host("/a/b");
  CHECK_FALSE(read_thread_limit(host.root()).has_value());
  host.write("sys/fs/cgroup/a/b/pids.max", "max\n");
  CHECK_FALSE(read_thread_limit(host.root()).has_value());
  host.write("sys/fs/cgroup/a/pids.max", "40\n");
  CHECK(read_thread_limit(host.root()) == 40);
  host.write("sys/fs/cgroup/a/b/pids.max", "100\n");
  CHECK(read_thread_limit(host.root()) == 40);
  host.write("sys/fs/cgroup/a/b/pids.max", "9\n");
  CHECK(read_thread_limit(host.root()) == 9);
}

TEST_CASE(
    "limits: a group is as fast as the slower of its first and its last core, in steps of five percent") {
  const tests::recorded_host host(4); // a cache, and so a group, for each two CPUs
  machine_description description;
  description.source = live_source{host.root()};
  const topology machine = discover(description);
  const locality_groups groups(machine, {});
  REQUIRE(groups.size() == 2);
  using speeds = std::vector<std::uint32_t>;
  CHECK(read_speeds(host.root(), machine, groups).empty()); // nothing is known
  host.frequency(1, 3'000'000, 3'000'000);
  CHECK(read_speeds(host.root(), machine, groups).empty());
  host.frequency(1, 3'000'000, 2'900'000);
  host.frequency(2, 3'000'000, 1'000'000);
  host.frequency(3, 3'000'000, 2'000'000);
  CHECK(read_speeds(host.root(), machine, groups) == speeds{95, 35});
  host.frequency(2, 3'000'000, 1);
  host.frequency(1, 3'000'000, 2'990'000);
  CHECK(read_speeds(host.root(), machine, groups) == speeds{100, 5});
  host.frequency(2, 0, 1);
  host.frequency(3, 3'000'000, 4'000'000);
  CHECK(read_speeds(host.root(), machine, groups).empty());
}

TEST_CASE("limits: memory comes from the nodes that have some, and of them from those that may be used") {
  const tests::recorded_host host(2);
  CHECK(read_host_allowance(host.root()).nodes.empty()); // not known
  host.memory("0,2-3");
  CHECK(read_host_allowance(host.root()).nodes.to_string() == "0,2-3");
  host.write("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-1\nMems_allowed_list:\t0-2\n");
  CHECK(read_host_allowance(host.root()).nodes.to_string() == "0,2");
  CHECK(read_host_allowance(host.root()).cpus.to_string() == "0-1");
  host.memory("what is this");
  CHECK(read_host_allowance(host.root()).nodes.empty());
}
