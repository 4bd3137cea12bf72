#include "shell.hpp"

#include <doctest/doctest.h>

using namespace corewise::tests;
using nlohmann::json;

namespace {

const std::set<std::string> page_keys{"source", "cpus",      "packages", "numa_nodes", "llcs",   "cores",
                                      "kinds",  "distances", "limits",   "groups",     "levels", "warnings"};
const std::set<std::string> group_keys{"id",       "cpus",         "cores",       "kind",
                                       "capacity", "package",      "node",        "llc_level",
                                       "workers",  "first_worker", "worker_cpus", "steal_order"};

json topology_of(const std::string& options, const scratch_shell& shell = {}) {
  const outcome shown = shell.run("corewise topology --format json " + options);
  CHECK_MESSAGE(shown.status == 0, shown.err);
  return json::parse(shown.out, nullptr, false);
}

void check_each_has(const json& list, const std::set<std::string>& keys) {
  REQUIRE(list.is_array());
  for (const json& item : list) CHECK(keys_of(item) == keys);
}

} // namespace

TEST_CASE("the topology in JSON has exactly the keys that are documented") {
  scratch_shell shell;
  shell.write("machine.yaml", two_sockets);
  for (const std::string machine :
       {"live", "machine.yaml", "'core:4 pu:1'", "'numa:2(memory=1GB) core:2 pu:2'"}) {
    CAPTURE(machine);
    const json page = topology_of("--machine " + machine, shell);
    CHECK(keys_of(page) == page_keys);
    check_each_has(page["packages"], {"id", "cpus"});
    check_each_has(page["numa_nodes"], {"os_index", "cpus", "home_cpus", "memory_bytes"});
    check_each_has(page["llcs"], {"level", "cpus"});
    check_each_has(page["kinds"], {"rank", "name", "cpus", "capacity", "source"});
    check_each_has(page["groups"], group_keys);
    CHECK(keys_of(page["limits"]) ==
          std::set<std::string>{"affinity", "cpuset", "quota_cpus", "part_hidden", "chosen_workers"});
    if (!page["distances"].is_null())
      CHECK(keys_of(page["distances"]) == std::set<std::string>{"nodes", "matrix"});
  }
}

TEST_CASE("the topology of a recorded machine is read from the folder of its /proc and /sys") {
  scratch_shell shell;
  REQUIRE(
      shell
          .run(
              "mkdir -p host/proc/self host/sys/devices/system/{node/node0,cpu/cpu{0..3}/topology}; cd host\n"
              "printf 'Cpus_allowed_list:\\t0-3\\n' > proc/self/status\n"
              "echo '0::/' > proc/self/cgroup; echo '22 1 8:1 / / rw - ext4 /dev/sda1 rw' > "
              "proc/self/mountinfo\n"
              "cd sys/devices/system; echo 0-3 > cpu/online; echo 0-3 > node/node0/cpulist\n"
              "for c in 0 1 2 3; do echo $((c / 2)) > cpu/cpu$c/topology/physical_package_id\n"
              "echo $c > cpu/cpu$c/topology/core_cpus_list; done")
          .status == 0);
  const json page = topology_of("--machine host", shell);
  CHECK(page["source"] == "live:host");
  CHECK(page["packages"] == json::parse(R"([{"id": 0, "cpus": "0-1"}, {"id": 1, "cpus": "2-3"}])"));
  CHECK(page["cpus"] == "0-3");
}

TEST_CASE("the topology in JSON shows a machine of two packages as it was described") {
  const json page = topology_of("--machine 'pack:2 numa:1 l3:2 core:4 pu:2'");
  CHECK(page["cpus"] == "0-31");
  CHECK(page["packages"] == json::parse(R"([{"id": 0, "cpus": "0-15"}, {"id": 1, "cpus": "16-31"}])"));
  CHECK(page["numa_nodes"][1]["os_index"] == 1);
  CHECK(page["numa_nodes"][1]["home_cpus"] == "16-31");
  CHECK(page["llcs"][3] == json::parse(R"({"level": 3, "cpus": "24-31"})"));
  CHECK(page["cores"].size() == 16);
  CHECK(page["cores"][5] == "10-11");
  CHECK(page["kinds"].size() == 1);
  CHECK(page["kinds"][0]["rank"] == 0);
  CHECK(page["kinds"][0]["capacity"] == 1024);
  CHECK(page["limits"]["affinity"] == nullptr);
  CHECK(page["limits"]["chosen_workers"] == 16);
  REQUIRE(page["groups"].size() == 4);
  const json& group = page["groups"][2];
  CHECK(group["id"] == 2);
  CHECK(group["cpus"] == "16-23");
  CHECK(group["cores"] == json::parse(R"(["16-17", "18-19", "20-21", "22-23"])"));
  CHECK(group["package"] == 1);
  CHECK(group["node"] == 1);
  CHECK(group["llc_level"] == 3);
  CHECK(group["workers"] == 4);
  CHECK(group["steal_order"] == json::parse("[2, 3, 0, 1]"));
  CHECK(page["levels"] == json::parse("[[0, 2, 4, 4], [2, 0, 4, 4], [4, 4, 0, 2], [4, 4, 2, 0]]"));
}

TEST_CASE("missing parts of a machine are null or empty in JSON") {
  const json page = topology_of("--machine 'core:4 pu:1'");
  CHECK(page["packages"].empty());
  CHECK(page["llcs"].empty());
  CHECK(page["groups"][0]["package"] == nullptr);
  CHECK(page["groups"][0]["llc_level"] == nullptr);
  CHECK(page["limits"]["quota_cpus"] == nullptr);
}

TEST_CASE("a machine file's kinds and distances are shown, slowest kind first") {
  scratch_shell shell;
  shell.write("machine.yaml", two_sockets + "distances: [[10, 32], [31, 10]]\n");
  const json page = topology_of("--machine machine.yaml", shell);
  REQUIRE(page["kinds"].size() == 2);
  CHECK(page["kinds"][0]["name"] == "E");
  CHECK(page["kinds"][0]["cpus"] == "8-15,24-31");
  CHECK(page["kinds"][0]["capacity"] == 512);
  CHECK(page["kinds"][1]["name"] == "P");
  CHECK(page["groups"][0]["kind"] == "P");
  CHECK(page["groups"][1]["kind"] == "E");
  CHECK(page["groups"][1]["capacity"] == 512);
  CHECK(page["distances"] == json::parse(R"({"nodes": [0, 1], "matrix": [[10, 32], [31, 10]]})"));
}

TEST_CASE("the limits of the machine at hand are those of the process") {
  const json page = topology_of("");
  CHECK(page["source"] == "live");
  CHECK(page["limits"]["affinity"].is_string());
  CHECK(page["limits"]["chosen_workers"].get<int>() >= 1);
  const json pinned = json::parse(
      run("taskset -c $(taskset -cp $$ | grep -o '[0-9]*$') corewise topology --format json").out);
  CHECK(pinned["limits"]["chosen_workers"] == 1);
  CHECK(pinned["cpus"] == pinned["limits"]["affinity"]);
}

TEST_CASE("--workers is a total that is dealt over the groups") {
  const json page = topology_of("--machine 'pack:2 numa:1 core:4 pu:1' --workers 6");
  CHECK(page["limits"]["chosen_workers"] == 6);
  CHECK(page["groups"][0]["workers"] == 3);
  CHECK(page["groups"][1]["workers"] == 3);
}

TEST_CASE("a profile's grouping holds, and --machine wins over its source") {
  scratch_shell shell;
  shell.write("profile.yaml",
              "version: 1\ntopology: {source: {synthetic: \"core:2 pu:1\"}, group_by: core}\n");
  CHECK(topology_of("--profile profile.yaml", shell)["groups"].size() == 2);
  CHECK(topology_of("--profile profile.yaml --machine 'core:5 pu:1'", shell)["groups"].size() == 5);
}

TEST_CASE("a machine that cannot be read is an error and never another machine") {
  for (const std::string machine : {"missing.xml", "missing.yaml", "'pack:nonsense'", "/dev/null", "''"}) {
    CAPTURE(machine);
    const outcome bad = run("corewise topology --machine " + machine);
    CHECK(bad.status == 1);
    CHECK(bad.out.empty());
    CHECK(bad.err.starts_with("corewise: "));
  }
  CHECK(contains(run("corewise topology --machine missing.xml").err, "missing.xml"));
}

TEST_CASE("the picture shows packages, caches, groups, kinds and the steal order") {
  const outcome shown = run("corewise topology --machine 'pack:2 numa:1 l3:2 core:4 pu:2'");
  CHECK(shown.status == 0);
  for (const std::string part :
       {"package 0", "package 1", "NUMA node 1", "L3", "group 0", "group 3", "CPUs 24-31", "4 workers",
        "steal order", "group 2  node 3  beyond 0-1", "chosen         16 workers"})
    CHECK_MESSAGE(contains(shown.out, part), part, " in\n", shown.out);
}

TEST_CASE("the picture is plain ASCII without colours by default") {
  const std::string machine = "--machine 'pack:2 numa:1 l3:2 core:4 pu:2'";
  const outcome plain = run("corewise topology " + machine);
  for (const char c : plain.out) CHECK((c == '\n' || (c >= ' ' && c <= '~')));
  CHECK(contains(run("LC_ALL=C.UTF-8 corewise topology " + machine).out, "├─ "));
  CHECK(contains(run("corewise topology --color always " + machine).out, "\033["));
}

TEST_CASE("colours come on a terminal and NO_COLOR turns them off") {
  const std::string in_terminal = "TERM=xterm script -qec 'corewise topology ";
  if (run("script -qec true /dev/null").status != 0) {
    MESSAGE("skipped: there is no script(1) to make a terminal");
    return;
  }
  CHECK(contains(run(in_terminal + "' /dev/null").out, "\033["));
  CHECK_FALSE(contains(run(in_terminal + "--color never' /dev/null").out, "\033["));
  CHECK_FALSE(contains(run("NO_COLOR=1 " + in_terminal + "' /dev/null").out, "\033["));
  CHECK(contains(run("NO_COLOR= " + in_terminal + "' /dev/null").out, "\033["));
}

TEST_CASE("the picture of a machine of 384 CPUs fits on a screen, and --all shows all of it") {
  const std::string machine = "--machine 'pack:2 numa:12 l3:1 core:8 pu:2'";
  const outcome folded = run("corewise topology " + machine);
  const outcome all = run("corewise topology --all " + machine);
  CHECK(count_of("\n", folded.out) < 50);
  CHECK(contains(folded.out, "more like these: groups 2-10"));
  for (int g = 0; g < 24; ++g) CHECK(contains(all.out, "group " + std::to_string(g) + " "));
}
