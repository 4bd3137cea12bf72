#include "../../topology/temporary_tree.hpp"
#include "error_lines.hpp"
#include "machine_file.hpp"

#include <doctest/doctest.h>

using namespace corewise;
using namespace corewise::tests;

namespace {

std::string machine_error(std::string_view yaml) {
  std::string all;
  for (const std::string& line : error_lines([&] { (void)detail::parse_machine_file(yaml, "f"); }))
    all += (all.empty() ? "" : "\n") + line;
  return all;
}

machine_description used(const std::string& machine) {
  machine_description d;
  use_machine(d, machine);
  return d;
}

} // namespace

TEST_CASE("a machine file describes kinds, distances, costs and energy") {
  const detail::machine_file m = detail::parse_machine_file(R"(
name: small
source: {synthetic: "numa:2 core:4 pu:1"}
kinds: [{cpus: "0-1,4-5", name: P, capacity: 1024}, {cpus: "2-3,6-7", name: E, capacity: 512}]
distances: [[10, 21], [21, 10]]
costs: {wake_up: 5us, run: 0ns, steal: {same_node: 120ns, cross_package: 0.9us}, slowdown: {cross_package: 1.6, shared_core: 1.4}}
energy: {P: {active: 3.5, idle: 0}, E: {active: 1}}
)",
                                                            "f");
  CHECK(m.name == "small");
  CHECK(std::get<synthetic_source>(m.source).text == "numa:2 core:4 pu:1");
  CHECK(m.kinds.size() == 2);
  CHECK(m.distances[0][1] == 21);
  CHECK(m.costs.wake_up == 5000);
  CHECK(m.costs.waking == machine_costs{}.waking);
  CHECK(m.costs.run == 0);
  CHECK(m.costs.steal[2] == 120);
  CHECK(m.costs.steal[4] == 900);
  CHECK(m.costs.slowdown.cross_package == 1.6);
  CHECK(m.costs.slowdown.shared_core == 1.4);
  CHECK(m.costs.energy_of("P").active == 3.5);
  CHECK(m.costs.energy_of("P").idle == 0);
  CHECK(m.costs.energy_of("E").active == 1);
  CHECK(m.costs.energy_of("E").idle == machine_costs::power{}.idle);
}

TEST_CASE("energy is that of described kinds") {
  const std::string kinds = "source: {synthetic: \"core:2 pu:1\"}\nkinds: [{cpus: \"0-1\", name: P}]\n";
  CHECK(machine_error(kinds + "energy: {p: {active: 5}}").find("did you mean \"P\"") != std::string::npos);
  CHECK(machine_error(kinds + "energy: {P: {active: 5}}").empty());
  CHECK(machine_error("source: {synthetic: \"core:2 pu:1\"}\nenergy: {p: {active: 5}}").empty());
}

TEST_CASE("errors in a machine file have places") {
  CHECK(machine_error("name: x\n") ==
        "f:1:1: source: found nothing; expected live, or a map with xml or synthetic");
  CHECK(machine_error("") == "f:1:1: source: found nothing; expected live, or a map with xml or synthetic");
  CHECK(machine_error("source: live\nkinds:\n  - {cpus: 0-1, name: P, capacity: 5000}\n") ==
        "f:3:36: kinds[0].capacity: found \"5000\"; expected a whole number from 1 to 1024");
  CHECK(machine_error("source: live\ncosts: {wake_up: fast}\n") ==
        "f:2:18: costs.wake_up: found \"fast\"; expected a duration with its unit from 0us to 1s");
  CHECK(machine_error("source: live\ncosts: {wake_up: 5000}\n") ==
        "f:2:18: costs.wake_up: found \"5000\"; expected a duration with its unit from 0us to 1s; write the "
        "unit, "
        "such as 5000ns, 5000us or 5000ms");
  CHECK(machine_error("source: live\ncosts: {steal: {same_node: 2s}}\n") ==
        "f:2:28: costs.steal.same_node: found \"2s\"; expected a duration with its unit from 0us to 1s");
  CHECK(machine_error("source: live\ncosts: {slowdown: {cross_package: .9}}\n") ==
        "f:2:35: costs.slowdown.cross_package: found \".9\"; expected a number from 1 to 1000");
  CHECK(machine_error("source: live\ncosts: {wakeup: 1}\n")
            .starts_with("f:2:9: costs.wakeup: found an unknown key; did you mean \"wake_up\"?"));
  CHECK(machine_error("source: live\nenergy: {P: {active: {a: 1}}}\n") ==
        "f:2:22: energy.P.active: found a map; expected a number from 0 to 100000");
  CHECK(machine_error("source: live\nkinds: [{cpus: 0-3, name: P}, {cpus: 3, name: E}]\n") ==
        "f:2:38: kinds[1].cpus: found 3 in another kind as well; a CPU belongs to one kind");
  CHECK(machine_error("source: live\ndistances: [[10, 20]]\n") ==
        "f:2:13: distances[0]: found 2 distances in one of 1 rows; a row has a distance to each node");
  CHECK(machine_error("source: live\nkind: []\n") ==
        "f:2:1: kind: found an unknown key; did you mean \"kinds\"? the keys here are version, name, source, "
        "kinds, "
        "distances, costs, energy");
}

TEST_CASE("the example of a machine file describes two sockets of fast and slow cores") {
  const std::string file = COREWISE_SOURCE_DIR "/configs/machines/two-socket-hybrid.yaml";
  const machine_description d = used(file);
  CHECK(std::get<synthetic_source>(d.source).text == "pack:2 numa:1 l3:1 core:16 pu:1");
  CHECK(d.source_name == "machine:" + file);
  REQUIRE(d.kinds.size() == 2);
  CHECK(d.kinds[0].name == "P");
  CHECK(d.kinds[0].cpus.to_string() == "0-7,16-23");
  CHECK(d.kinds[0].capacity == 1024);
  CHECK(d.kinds[1].cpus.to_string() == "8-15,24-31");
  CHECK(d.kinds[1].capacity == 512);
  const topology machine = discover(d);
  CHECK(machine.packages().size() == 2);
  CHECK(machine.kinds().size() == 2);
  CHECK(machine.cpus().size() == 32);
  CHECK(machine.distance(0, 1) == 21);
}

TEST_CASE("a machine is live, a file of either format, or a synthetic description") {
  const temporary_tree tree;
  const auto xml = tree.write("m.xml", "<topology/>");
  const auto xml_without_suffix = tree.write("m", "\n <topology/>");
  const auto yaml = tree.write("m.yml", "source: {xml: m.xml}\n");
  const auto yaml_without_suffix = tree.write("described", "source: live\n");
  CHECK(std::holds_alternative<live_source>(used("live").source));
  tree.write("recorded/sys/devices/system/cpu/online", "0-3\n");
  const auto recorded = tree.root() / "recorded";
  CHECK(std::get<live_source>(used(recorded.string()).source).root == recorded);
  CHECK(discover(used(recorded.string())).cpus().size() == 4);
  CHECK(error_lines([&] { (void)used(tree.root().string()); }).front().find("hwloc-gather-topology") !=
        std::string::npos);
  CHECK(std::get<xml_source>(used(xml.string()).source).file == xml);
  CHECK(std::get<xml_source>(used(xml_without_suffix.string()).source).file == xml_without_suffix);
  CHECK(std::get<xml_source>(used(yaml.string()).source).file == tree.root() / "m.xml");
  CHECK(std::holds_alternative<live_source>(used(yaml_without_suffix.string()).source));
  for (const char* text :
       {"pack:2 numa:1 l3:4 core:8 pu:2", "core:2 pu:1", "2 4 2", "[numa] pack:2 pu:2", " node:1 pu:1"})
    CHECK_MESSAGE(std::get<synthetic_source>(used(text).source).text == text, text);
}

TEST_CASE("a machine file replaces all settings that describe the machine") {
  const temporary_tree tree;
  const auto plain = tree.write("plain.yaml", "source: {synthetic: \"core:2 pu:1\"}\n");
  machine_description d;
  d.kinds = {{cpu_set::range(0, 1), "P", 1024}};
  d.distances = {{10}};
  d.use.packages = {0};
  use_machine(d, plain.string());
  CHECK(d.kinds.empty());
  CHECK(d.distances.empty());
  CHECK(d.use.packages == std::vector<std::uint32_t>{0});
  use_machine(d, "core:4 pu:1");
  CHECK(d.source_name.empty());
}

TEST_CASE("a profile in the place of a machine file is called one") {
  const temporary_tree files;
  files.write("profile.yaml", "name: a\ntopology: {source: {synthetic: \"core:2 pu:1\"}}\nstrict: true\n");
  files.write("wrong.yaml", "name: a\nstrict: maybe\n");
  files.write("name.yaml", "name: a\n");
  const auto error = [&](const char* file) {
    const std::string path = (files.root() / file).string();
    const line_list lines = error_lines([&] { (void)used(path); });
    REQUIRE(!lines.empty());
    return lines.front().substr(path.size());
  };
  CHECK(error("profile.yaml") == ": is a profile; expected a machine file, which has a `source`");
  CHECK(error("wrong.yaml") == ":1:1: source: found nothing; expected live, or a map with xml or synthetic");
  CHECK(error("name.yaml") == ":1:1: source: found nothing; expected live, or a map with xml or synthetic");
}

TEST_CASE("a missing machine file is an error that names it") {
  const temporary_tree tree;
  const auto why = [](const std::string& machine) { return error_lines([&] { (void)used(machine); }); };
  const std::string xml = (tree.root() / "no.xml").string();
  const std::string yaml = (tree.root() / "no.yaml").string();
  CHECK(why(xml) == line_list{xml + ": cannot be read: No such file or directory"});
  CHECK(why(yaml) == line_list{yaml + ": cannot be read: No such file or directory"});
  CHECK(why(tree.root().string()) ==
        line_list{tree.root().string() +
                  ": has no folder sys/devices/system/cpu; expected a recorded machine with the "
                  "folders sys and proc, as hwloc-gather-topology makes it"});
  CHECK(why("machines/no") ==
        line_list{
            "machines/no: no such file, and not a synthetic description such as \"pack:2 numa:1 l3:4 core:8 "
            "pu:2\"; give live, FILE.xml, FILE.yaml, FOLDER or such a description"});
  for (const char* nothing : {"", "alive", "Live", "two-socket", "2x4", "pack:", "pack:x"})
    CHECK_MESSAGE(why(nothing).size() == 1, nothing);
  const auto wrong = tree.write("wrong.yaml", "source: {xml: gone.xml}\n");
  REQUIRE(why(wrong.string()).size() == 1);
  CHECK(why(wrong.string())[0].starts_with(wrong.string() + ":1:15: source.xml: found "));
}
