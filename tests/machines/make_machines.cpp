// Writes the machines of this folder. Each is a synthetic description plus the parts that a description
// cannot have: kinds, distances, CPUs that are missing or not allowed, and a few edits of the text for what
// hwloc's interface refuses.

#include <hwloc.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using infos = std::vector<std::pair<std::string, std::string>>;

class bitmap {
 public:
  explicit bitmap(const std::string& list) { hwloc_bitmap_list_sscanf(bits_, list.c_str()); }
  bitmap(const bitmap&) = delete;
  bitmap& operator=(const bitmap&) = delete;
  ~bitmap() { hwloc_bitmap_free(bits_); }
  operator hwloc_bitmap_t() const { return bits_; }

 private:
  hwloc_bitmap_t bits_ = hwloc_bitmap_alloc();
};

void require(bool done, const char* what) {
  if (!done) throw std::runtime_error(std::string("hwloc refuses: ") + what);
}

/// Builds a machine.
class machine {
 public:
  explicit machine(const std::string& synthetic, unsigned long flags = 0) {
    require(hwloc_topology_init(&handle_) == 0, "init");
    require(hwloc_topology_set_flags(handle_, flags) == 0, "flags");
    require(hwloc_topology_set_synthetic(handle_, synthetic.c_str()) == 0, synthetic.c_str());
    require(hwloc_topology_load(handle_) == 0, "load");
  }
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;
  ~machine() { hwloc_topology_destroy(handle_); }

  machine& architecture(const char* name) {
    require(hwloc_obj_add_info(hwloc_get_root_obj(handle_), "Architecture", name) == 0, "info");
    return *this;
  }
  /// Leaves only these CPUs. An object that is empty then goes, unless it has memory.
  machine& only(const std::string& cpus) {
    require(hwloc_topology_restrict(handle_, bitmap(cpus), 0) == 0, "restrict");
    return *this;
  }
  machine& allow(const std::string& cpus, const std::string& nodes) {
    require(hwloc_topology_allow(handle_, bitmap(cpus), bitmap(nodes), HWLOC_ALLOW_FLAG_CUSTOM) == 0,
            "allow");
    return *this;
  }
  machine& kind(const std::string& cpus, const infos& facts, int efficiency = -1) {
    std::vector<hwloc_info_s> list;
    for (const auto& [name, value] : facts)
      list.push_back({const_cast<char*>(name.c_str()), const_cast<char*>(value.c_str())});
    require(hwloc_cpukinds_register(handle_, bitmap(cpus), efficiency, static_cast<unsigned>(list.size()),
                                    list.data(), 0) == 0,
            "kind");
    return *this;
  }
  machine& subtype(unsigned node, const char* name) {
    auto* object = hwloc_get_numanode_obj_by_os_index(handle_, node);
    require(object != nullptr, "node");
    object->subtype = strdup(name);
    return *this;
  }
  /// Sets a matrix over all objects of a type, in hwloc's order of them.
  machine& distances(hwloc_obj_type_t type, const char* name, unsigned long meaning,
                     std::vector<hwloc_uint64_t> values) {
    std::vector<hwloc_obj_t> objects;
    for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_obj_by_type(handle_, type, o)) != nullptr;)
      objects.push_back(o);
    require(objects.size() * objects.size() == values.size(), "size of the matrix");
    auto* matrix = hwloc_distances_add_create(handle_, name, HWLOC_DISTANCES_KIND_FROM_USER | meaning, 0);
    require(matrix != nullptr &&
                hwloc_distances_add_values(handle_, matrix, static_cast<unsigned>(objects.size()),
                                           objects.data(), values.data(), 0) == 0 &&
                hwloc_distances_add_commit(handle_, matrix, 0) == 0,
            "distances");
    return *this;
  }
  machine& latencies(std::vector<hwloc_uint64_t> values, const char* name = "NUMALatency") {
    return distances(HWLOC_OBJ_NUMANODE, name, HWLOC_DISTANCES_KIND_MEANS_LATENCY, std::move(values));
  }

  std::string xml() const {
    char* text = nullptr;
    int length = 0;
    require(hwloc_topology_export_xmlbuffer(handle_, &text, &length, 0) == 0, "export");
    std::string result(text);
    hwloc_free_xmlbuffer(handle_, text);
    return result;
  }

 private:
  hwloc_topology_t handle_ = nullptr;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string join(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  return text;
}

/// Takes an object away and leaves what is in it.
std::string unwrapped(const std::string& text, const std::string& start) {
  std::vector<std::string> kept;
  std::string closing;
  bool found = false;
  for (const auto& line : lines_of(text)) {
    const auto indent = line.find_first_not_of(' ');
    if (!found && indent != std::string::npos && line.compare(indent, start.size(), start) == 0) {
      found = true;
      closing = std::string(indent, ' ') + "</object>";
    } else if (found && !closing.empty() && line == closing) {
      closing.clear();
    } else {
      kept.push_back(line);
    }
  }
  require(found && closing.empty(), start.c_str());
  return join(kept);
}

std::string attribute(const std::string& line, const std::string& name) {
  const auto start = line.find(" " + name + "=\"");
  require(start != std::string::npos, name.c_str());
  return line.substr(start, line.find('"', line.find('"', start) + 1) + 1 - start);
}

/// Puts a memory-side cache before each memory node.
std::string with_memory_side_cache(const std::string& text) {
  std::vector<std::string> lines;
  std::string closing;
  for (const auto& line : lines_of(text)) {
    const bool is_node = line.find("type=\"NUMANode\"") != std::string::npos;
    if (is_node) {
      const std::string indent(line.find_first_not_of(' '), ' ');
      std::string cache = indent + "<object type=\"MemCache\"";
      for (const auto* name : {"cpuset", "complete_cpuset", "nodeset", "complete_nodeset"})
        cache += attribute(line, name);
      const auto number = attribute(line, "os_index").substr(std::string(" os_index=\"").size());
      cache += " gp_index=\"9" + number + // the quotation mark is number's
               " cache_size=\"1073741824\" depth=\"1\" cache_linesize=\"64\" cache_associativity=\"1\" "
               "cache_type=\"0\">";
      lines.push_back(cache);
      closing = indent + "</object>";
    }
    lines.push_back(line);
    const bool ends = line.ends_with("/>") ? is_node : line == closing;
    if (!closing.empty() && ends) {
      lines.push_back(closing);
      closing.clear();
    }
  }
  return join(lines);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  require(at != std::string::npos, from.c_str());
  return text.replace(at, from.size(), to);
}

/// Removes the parts that depend on the writer of the file, and not on the machine.
std::string without_traces(const std::string& text) {
  std::vector<std::string> kept;
  for (const auto& line : lines_of(text))
    if (line.find("\"hwlocVersion\"") == std::string::npos &&
        line.find("\"ProcessName\"") == std::string::npos)
      kept.push_back(line);
  return join(kept);
}

const infos p_core{{"CoreType", "IntelCore"}};
const infos e_core{{"CoreType", "IntelAtom"}};

infos clocks(const char* max, const char* base) {
  return {{"FrequencyMaxMHz", max}, {"FrequencyBaseMHz", base}};
}
infos capacity(const char* value) { return {{"LinuxCapacity", value}}; }
infos atom_at(const char* max) { return {{"CoreType", "IntelAtom"}, {"FrequencyMaxMHz", max}}; }

using made = std::vector<std::pair<std::string, std::string>>;

void add_typed_kinds(made& all) {
  all.emplace_back("kinds_by_type", machine("pack:1 l3:1 core:4 pu:2")
                                        .only("0-4,6")
                                        .architecture("x86_64")
                                        .kind("4,6", e_core)
                                        .kind("0-3", p_core)
                                        .xml());
  all.emplace_back("kinds_by_clock", machine("pack:1 l3:1 core:6 pu:1")
                                         .architecture("x86_64")
                                         .kind("4-5", clocks("3900", "1400"))
                                         .kind("2-3", clocks("5000", "1900"))
                                         .kind("0-1", clocks("5400", "1900"))
                                         .xml());
  all.emplace_back("turbo_bins_are_one_kind", machine("pack:1 l3:1 core:4 pu:1")
                                                  .architecture("x86_64")
                                                  .kind("0-2", clocks("4700", "3600"))
                                                  .kind("3", clocks("5300", "3600"))
                                                  .xml());
  all.emplace_back("low_power_island",
                   machine("pack:1 core:8 pu:1")
                       .architecture("x86_64")
                       .kind("0-3", {{"CoreType", "IntelCore"}, {"FrequencyMaxMHz", "4800"}})
                       .kind("4-5", atom_at("3800"))
                       .kind("6-7", atom_at("2500"))
                       .xml());
}

void add_arm_kinds(made& all) {
  all.emplace_back("too_many_kinds", machine("pack:1 l3:2 core:5 pu:1")
                                         .architecture("aarch64")
                                         .kind("0-1", capacity("718"), 0)
                                         .kind("5-6", capacity("731"), 1)
                                         .kind("2-4", capacity("997"), 2)
                                         .kind("7-8", capacity("1017"), 3)
                                         .kind("9", capacity("1024"), 4)
                                         .xml());
  all.emplace_back("three_arm_kinds", machine("pack:1 core:8 pu:1")
                                          .architecture("aarch64")
                                          .kind("0-3", capacity("160"))
                                          .kind("4-6", capacity("520"))
                                          .kind("7", capacity("1024"))
                                          .xml());
  all.emplace_back("near_capacities_merge", machine("pack:1 core:8 pu:1")
                                                .architecture("aarch64")
                                                .kind("0-3", capacity("380"))
                                                .kind("4-6", capacity("860"))
                                                .kind("7", capacity("1024"))
                                                .xml());
  all.emplace_back("equal_capacity_two_designs",
                   machine("pack:1 core:4 pu:1")
                       .architecture("aarch64")
                       .kind("0-1", {{"LinuxCapacity", "1024"}, {"CPUPart", "0xd07"}})
                       .kind("2-3", {{"LinuxCapacity", "1024"}, {"CPUPart", "0xd08"}})
                       .xml());
}

void add_odd_kinds(made& all) {
  all.emplace_back(
      "capacity_against_clock",
      machine("pack:1 core:6 pu:1")
          .architecture("x86_64")
          .kind("4-5", {{"FrequencyMaxMHz", "2000"}, {"FrequencyBaseMHz", "1200"}, {"LinuxCapacity", "1025"}})
          .kind("0-1", {{"FrequencyMaxMHz", "3000"}, {"FrequencyBaseMHz", "2500"}, {"LinuxCapacity", "234"}})
          .kind("2-3", {{"FrequencyMaxMHz", "3000"}, {"FrequencyBaseMHz", "1200"}, {"LinuxCapacity", "234"}})
          .xml());
  all.emplace_back("kind_cuts_cores", machine("pack:1 l3:1 core:2 pu:2(indexes=0,2,1,3)")
                                          .architecture("x86_64")
                                          .kind("0-1", e_core)
                                          .kind("2-3", p_core)
                                          .xml());
  all.emplace_back(
      "kind_covers_part",
      machine("pack:1 core:2 pu:1").architecture("aarch64").kind("0", {{"FrequencyMaxMHz", "800"}}).xml());
  all.emplace_back(
      "kinds_leave_some_out",
      machine("pack:2 core:3 pu:1").architecture("x86_64").kind("0-1", p_core).kind("3-4", e_core).xml());
}

void add_half_told_kinds(made& all) {
  all.emplace_back(
      "kind_covers_cpus_that_are_not_there",
      replaced(
          machine("pack:1 core:4 pu:1").architecture("x86_64").kind("0-1", p_core).kind("2-3", e_core).xml(),
          "<cpukind cpuset=\"0x0000000c\"", "<cpukind cpuset=\"0x0000ff0c\""));
  all.emplace_back(
      "only_ranks",
      machine("pack:1 core:4 pu:1").architecture("x86_64").kind("0-1", {}, 7).kind("2-3", {}, 3).xml());
  all.emplace_back("some_cores_without_type",
                   machine("pack:1 core:8 pu:1")
                       .architecture("x86_64")
                       .kind("0-3", {{"CoreType", "IntelCore"}, {"FrequencyMaxMHz", "5000"}})
                       .kind("4-5", clocks("4800", "2000"))
                       .kind("6-7", clocks("2500", "1000"))
                       .xml());
}

void add_nodes(made& all) {
  all.emplace_back("two_sockets",
                   machine("pack:2 numa:1 l3:2 core:2 pu:2").latencies({10, 21, 21, 10}).xml());
  all.emplace_back("sparse_nodes_out_of_order", machine("pack:2 numa:2(indexes=33,5,0,72) core:2 pu:1")
                                                    .latencies({10, 12, 21, 22, //
                                                                13, 10, 23, 24, //
                                                                31, 32, 10, 14, //
                                                                33, 34, 15, 10})
                                                    .xml());
  all.emplace_back(
      "memory_only_nodes",
      machine("pack:2 [numa(memory=16GiB indexes=0,2)] [numa(memory=64GiB indexes=1,3)] core:2 pu:1")
          .subtype(0, "MCDRAM")
          .subtype(2, "MCDRAM")
          .xml());
  all.emplace_back("node_without_memory_beside_one_with",
                   machine("pack:1 [numa(memory=0)] [numa(memory=8GiB)] core:2 pu:1").xml());
  all.emplace_back("nodes_inside_nodes",
                   machine("[numa(memory=1GiB)] pack:2 [numa(memory=1GiB)] core:2 pu:1").xml());
  all.emplace_back("node_without_cpus", machine("pack:3 numa:1 core:2 pu:1").only("0-3").xml());
  all.emplace_back(
      "cpus_without_node",
      machine("pack:2 numa:1 core:2 pu:1", HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED).allow("0-3", "0").xml());
  all.emplace_back("not_allowed",
                   machine("pack:2 numa:1 l3:1 core:2 pu:2", HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED)
                       .allow("1-3,6", "0-1")
                       .xml());
  all.emplace_back("node_larger_than_package",
                   machine("numa:2 pack:2 l3:1 core:2 pu:1").latencies({10, 20, 20, 10}).xml());
  all.emplace_back("node_smaller_than_cache", machine("pack:2 l3:1 numa:2 core:2 pu:1").xml());
  all.emplace_back(
      "many_matrices",
      machine("pack:2 numa:1 core:2 pu:1")
          .distances(HWLOC_OBJ_PACKAGE, "Sockets", HWLOC_DISTANCES_KIND_MEANS_LATENCY, {1, 2, 3, 4})
          .distances(HWLOC_OBJ_NUMANODE, "NUMABandwidth", HWLOC_DISTANCES_KIND_MEANS_BANDWIDTH,
                     {100, 50, 50, 100})
          .distances(HWLOC_OBJ_NUMANODE, "Hops", HWLOC_DISTANCES_KIND_MEANS_LATENCY, {1, 9, 9, 1})
          .latencies({10, 16, 17, 11})
          .xml());
  all.emplace_back("unnamed_distances",
                   machine("pack:2 numa:1 core:2 pu:1").latencies({10, 15, 15, 10}, nullptr).xml());
}

void add_shapes(made& all) {
  all.emplace_back("nothing_but_cpus", machine("pu:3").xml());
  all.emplace_back("no_packages_no_caches", machine("numa:2 core:2 pu:2").xml());
  all.emplace_back("offline_siblings", machine("pack:2 l3:1 core:3 pu:2").only("0-2,6-8").xml());
  all.emplace_back("cpus_do_not_start_at_0", machine("pack:1 l3:1 core:2 pu:2(indexes=4,12,6,14)").xml());
  all.emplace_back("package_without_cpus", machine("pack:2 numa:1 l3:1 core:2 pu:1").only("2-3").xml());
  all.emplace_back("cpus_without_package", unwrapped(machine("numa:1 pack:2 l3:1 core:2 pu:1").xml(),
                                                     "<object type=\"Package\" os_index=\"1\""));
  all.emplace_back("last_levels_differ", unwrapped(machine("pack:1 l2:2 l1:2 core:1 pu:1").xml(),
                                                   "<object type=\"L2Cache\" cpuset=\"0x0000000c\""));
  all.emplace_back("cache_below_core", machine("pack:1 core:2 l2:2 pu:2").xml());
  all.emplace_back("memory_side_cache",
                   with_memory_side_cache(machine("pack:2 numa:1 l2:2 core:1 pu:1").xml()));
  all.emplace_back("unequal_packages", machine("pack:2 l3:2 core:2 pu:1").only("0-4").xml());
  all.emplace_back("interleaved_numbers", machine("pack:2 numa:1 l3:1 core:2 pu:2(indexes=pack:core)").xml());
}

made make_all() {
  made all;
  add_typed_kinds(all);
  add_arm_kinds(all);
  add_odd_kinds(all);
  add_half_told_kinds(all);
  add_nodes(all);
  add_shapes(all);
  return all;
}

std::string hwloc_version() {
  const auto version = hwloc_get_api_version();
  return std::to_string(version >> 16) + "." + std::to_string((version >> 8) & 0xff);
}

} // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: make_machines FOLDER | --hwloc-version\n";
    return 2;
  }
  if (std::string(arguments[1]) == "--hwloc-version") {
    std::cout << hwloc_version() << "\n";
    return 0;
  }
  try {
    for (const auto& [name, text] : make_all())
      std::ofstream(std::filesystem::path(arguments[1]) / (name + ".xml"), std::ios::binary)
          << without_traces(text);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
