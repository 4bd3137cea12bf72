#include "temporary_tree.hpp"

#include <corewise/topology/discovery.hpp>
#include <corewise/topology/error.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace corewise;
using corewise::tests::temporary_tree;
namespace fs = std::filesystem;

namespace {

std::string refusal_of(const machine_source& source) {
  machine_description description;
  description.source = source;
  try {
    const auto machine = discover(description);
    return "discovered " + machine.cpus().to_string();
  } catch (const topology_error& error) {
    return error.what();
  }
}

void check_refused(const machine_source& source, const std::string& because) {
  const auto refusal = refusal_of(source);
  CAPTURE(refusal);
  CHECK_FALSE(refusal.starts_with("discovered"));
  CHECK(refusal.find(because) != std::string::npos);
}

std::string content_of(const std::string& machine) {
  std::ifstream in(fs::path(COREWISE_TEST_MACHINES) / (machine + ".xml"));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  return text.replace(text.find(from), from.size(), to);
}

} // namespace

TEST_CASE("sources: a file that is not hwloc XML is refused with its name and the reason") {
  const temporary_tree tree;
  const auto whole = content_of("two_sockets");
  const auto refused = [&](const std::string& content, const std::string& because) {
    const auto file = tree.write("machine.xml", content);
    check_refused(xml_source{file}, because);
    CHECK(refusal_of(xml_source{file}).find(file.string()) != std::string::npos);
  };
  refused("", "is empty");
  refused("hello", "is not hwloc XML");
  refused("<html></html>", "is not hwloc XML");
  refused(std::string("<topology>\0</topology>", 22), "NUL");
  refused(whole.substr(0, whole.size() / 2), "is damaged: line");
  refused(replaced(whole, "complete_cpuset=\"", "complete=\""), "has no proper complete_cpuset");
  refused(replaced(whole, "type=\"PU\" os_index=\"3\"", "type=\"PU\" os_index=\"4294967295\""), "os_index");
  refused(replaced(whole, "complete_nodeset=\"", "complete=\""), "has no proper complete_nodeset");
  refused(replaced(whole, "</object>", "</info>"), "closes no element");
  refused("<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology "
          "version=\"2.0\">\n</topology>\n",
          "hwloc cannot read it");
  refused(replaced(whole, "<topology version=\"2.0\">", "<topology version=\"3.0\">"), "format 3.0");
  refused(replaced(whole, "type=\"NUMANode\" os_index=\"1\"", "type=\"NUMANode\" os_index=\"0\""),
          "the source has the NUMA node 0 twice");
}

TEST_CASE("sources: XML whose first object is not the machine is refused, and does not crash hwloc") {
  const temporary_tree tree;
  for (const std::string type : {"NUMANode", "PU", "Package", "Misc", ""}) {
    const auto file = tree.write(
        "machine.xml", "<topology version=\"2.0\">\n<object type=\"" + type +
                           "\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" "
                           "complete_nodeset=\"0x1\" gp_index=\"1\"/></topology>");
    check_refused(xml_source{file}, "is damaged: line 2: the first object is not of the type \"Machine\"");
  }
}

TEST_CASE("sources: XML that is nested without end is refused, not followed") {
  const temporary_tree tree;
  std::string text =
      "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n";
  const std::string sets =
      " cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" complete_nodeset=\"0x1\">\n";
  text += "<object type=\"Machine\"" + sets;
  for (int depth = 0; depth < 300000; ++depth) text += "<object type=\"Group\"" + sets;
  check_refused(xml_source{tree.write("deep.xml", text)}, "nested");
}

TEST_CASE("sources: a path that is not a file is refused") {
  const temporary_tree tree;
  check_refused(xml_source{tree.root() / "nothing.xml"}, "No such file");
  check_refused(xml_source{tree.root()}, "is a directory");
  check_refused(xml_source{"/dev/null"}, "not a regular file");
  check_refused(xml_source{""}, "xml");
}

TEST_CASE("sources: a synthetic description that hwloc refuses never becomes the machine at hand") {
  for (const std::string text :
       {"", "bad", "pu:", "pu:0", "pack:2", "numa:2", "core:4,8", "pu:2 pu:2", "pack:2 numa:1 l3:4 core",
        "pack:99999999999999999999 pu:2", "pack:-1 pu:2"}) {
    CAPTURE(text);
    const auto refusal = refusal_of(synthetic_source{text});
    CAPTURE(refusal);
    CHECK(refusal.find("topology source synthetic") != std::string::npos);
    CHECK(refusal.find("\"" + text + "\"") != std::string::npos);
  }
}

TEST_CASE("sources: a synthetic description of too many objects is refused at once, with the limit") {
  for (const char* text : {"pu:8193", "pack:1000 core:1000 pu:4", "pack:1000 core:1000 pu:1000",
                           "pack:4000000000 pu:4000000000", "pack:256 core:256 pu:1"})
    check_refused(synthetic_source{text}, "has more than 8192 CPUs, the most that can be described");
  for (const char* text : {"core:8192 pu:1", "pu:1025", "pack:2 core:2048 pu:1", "pack:2048 core:1 pu:4"})
    check_refused(synthetic_source{text}, "has more than 1024 objects beside each other");
  for (const char* text :
       {"pack:2 numa:1024 pu:1", "pack:1024 numa:2 core:1 pu:1", "pack:1024 die:2 [numa] pu:1",
        "pack:1024 [numa] [NUMANode(memory=1GB)] pu:2", "pack:1024 [numa] die:2 numa:1 pu:1"})
    check_refused(synthetic_source{text}, "has more than 1024 NUMA nodes");
  // hwloc needs no blank behind a bracket or a number, and takes the first closing bracket for the end.
  check_refused(synthetic_source{"[numa]4000 pu:3"}, "has more than 1024 objects beside each other");
  for (const char* text : {"[numa]9000", "[numa[x]9000"})
    check_refused(synthetic_source{text}, "has more than 8192 CPUs");
  check_refused(synthetic_source{"pack:1024numa:2 pu:1"}, "has more than 1024 NUMA nodes");
  // And a bracket within a name means nothing to it.
  for (const char* text : {"pack(:1000 core:1000 pu:1000", "pu[NUMANode:1000 core:1000 pu:1000"})
    check_refused(synthetic_source{text}, "has more than 8192 CPUs");
  check_refused(synthetic_source{"1024 2 1"}, "has 2048 NUMA nodes, and 1024 are the most");
  std::string deep = "pack:1024 ";
  for (int i = 0; i < 64; ++i) deep += "group:1 ";
  check_refused(synthetic_source{deep + "pu:1"}, "has more than 65536 objects");
}

TEST_CASE("sources: numbers and blanks of a synthetic description that hwloc would read in another way are "
          "refused") {
  for (const char* text : {"pack:0x400 core:0x10 pu:1", "pack:2 core:+8192 pu:4", "0x2000", "pack:010 pu:1",
                           "[numa]0x2000", "numa:2(memory=1GB)0x2000"})
    check_refused(synthetic_source{text}, "expected decimal numbers");
  for (const char* text : {"1 1024\n64", "pack:2\tcore:2 pu:1"})
    check_refused(synthetic_source{text}, "another control character");
}

TEST_CASE("sources: the XML of a machine of too many objects is refused at once, with the limit") {
  const temporary_tree tree;
  const auto machine = [&](const std::string& type, int count) {
    const std::string sets =
        "cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" complete_nodeset=\"0x1\"";
    std::string text =
        "<?xml version=\"1.0\"?>\n<topology version=\"2.0\">\n<object type=\"Machine\" " + sets + ">\n";
    for (int i = 0; i < count; ++i)
      text += "<object type=\"" + type + "\" os_index=\"" + std::to_string(i % 65536) + "\" " + sets + "/>\n";
    return xml_source{tree.write("machine.xml", text + "</object>\n</topology>\n")};
  };
  check_refused(machine("PU", 8193), "has more than 8192 CPUs, the most that can be described");
  check_refused(machine("NUMANode", 1025), "has more than 1024 NUMA nodes");
  check_refused(machine("Misc", 65536), "has more than 65536 objects");
}

TEST_CASE("sources: numbers in a synthetic description's attributes are not CPUs") {
  machine_description description;
  description.source =
      synthetic_source{"pack:2 [numa(memory=128GB)] l3:2(size=33554432) core:2 pu:2(indexes=core)"};
  const auto machine = discover(description);
  CHECK(machine.cpus().size() == 16);
  CHECK(machine.source() ==
        "synthetic:pack:2 [numa(memory=128GB)] l3:2(size=33554432) core:2 pu:2(indexes=core)");
}

TEST_CASE("sources: the largest machines that may be described are read") {
  machine_description description;
  for (const char* text :
       {"pack:64 core:64 pu:2", "pack:1024 [numa(memory=1GB)] core:2 pu:2(indexes=core:numa)"}) {
    description.source = synthetic_source{text};
    CHECK(discover(description).cpus().size() >= 4096);
  }
}

TEST_CASE("sources: a source is shown under the name that it was given") {
  machine_description description;
  description.source = synthetic_source{"pu:2"};
  description.source_name = "machine:two.yaml";
  CHECK(discover(description).source() == "machine:two.yaml");
}

TEST_CASE("sources: variables for hwloc in the environment do not change the machine of a source") {
  ::setenv("HWLOC_XMLFILE", "/nowhere.xml", 1);
  ::setenv("HWLOC_SYNTHETIC", "pu:7", 1);
  ::setenv("HWLOC_CPUKINDS_RANKING", "none", 1);
  ::setenv("HWLOC_THISSYSTEM", "1", 1);
  machine_description description;
  description.source = xml_source{fs::path(COREWISE_TEST_MACHINES) / "too_many_kinds.xml"};
  CHECK(discover(description).kinds().size() == 2);
  CHECK_FALSE(discover(description).is_this_system());
  description.source = synthetic_source{"pack:2 pu:2"};
  CHECK(discover(description).cpus().size() == 4);
  CHECK_FALSE(discover(description).is_this_system());
  check_refused(live_source{}, "HWLOC_SYNTHETIC");
  for (const auto* name : {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_CPUKINDS_RANKING", "HWLOC_THISSYSTEM"})
    ::unsetenv(name);
}

TEST_CASE("sources: machines of a thousand CPUs and of a thousand nodes can be read") {
  // bench/topology/discovery_cost measures what their discovery costs.
  for (const char* text : {"pack:4 numa:2 l3:8 core:16 pu:1", "numa:256 core:4 pu:1", "numa:1024 pu:1"}) {
    CAPTURE(text);
    machine_description description;
    description.source = synthetic_source{text};
    CHECK(discover(description).cpus().size() == 1024);
  }
}
