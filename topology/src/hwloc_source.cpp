#include "hwloc_source.hpp"

#include "machine_size.hpp"
#include "source_check.hpp"

#include <corewise/topology/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwloc.h>
#include <pthread.h>
#include <sys/single_threaded.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace corewise::detail {
namespace {

struct destroy_topology {
  void operator()(hwloc_topology_t handle) const { hwloc_topology_destroy(handle); }
};
using hwloc_handle = std::unique_ptr<hwloc_topology, destroy_topology>;

/// Held while hwloc is in use, and by `fork`: so the child of a process fork finds no lock of hwloc's held by
/// a thread that it does not have. A fork waits for one discovery at most: the next one lets it go first.
class hwloc_use {
 public:
  void lock() {
    for (;;) {
      mutex_.lock();
      if (forks_ == 0) return;
      mutex_.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds{100}); // a fork takes that long
    }
  }
  void unlock() { mutex_.unlock(); }

  void before_fork() {
    ++forks_;
    mutex_.lock();
  }
  void in_parent() {
    --forks_;
    mutex_.unlock();
  }
  void in_child() {
    forks_ = 0; // other threads' forks are the parent's
    mutex_.unlock();
  }

 private:
  std::mutex mutex_;
  std::atomic<int> forks_{0}; // that wait, or hold it
};
constinit hwloc_use use_of_hwloc;

[[maybe_unused]] const bool forks_wait =
    ::pthread_atfork([] { use_of_hwloc.before_fork(); }, [] { use_of_hwloc.in_parent(); },
                     [] { use_of_hwloc.in_child(); }) == 0;

/// Keeps hwloc from writing to standard error. hwloc listens to the environment only, which must not be
/// changed beside other threads. Where there are other threads hwloc's default remains: it prints critical
/// messages.
void quiet_hwloc() {
  static bool done = false;
  if (!std::exchange(done, true) && __libc_single_threaded != 0) setenv("HWLOC_HIDE_ERRORS", "2", 0);
}

hwloc_handle new_handle() {
  quiet_hwloc();
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw topology_error("hwloc cannot be initialised");
  return hwloc_handle(raw);
}

cpu_set to_cpu_set(hwloc_const_bitmap_t bitmap) {
  cpu_set cpus;
  if (bitmap == nullptr) return cpus;
  if (hwloc_bitmap_weight(bitmap) < 0 || hwloc_bitmap_last(bitmap) > static_cast<int>(cpu_set::largest))
    throw topology_error(fmt::format("the source has CPU numbers above {}, the largest that can be described",
                                     cpu_set::largest));
  for (int cpu = hwloc_bitmap_first(bitmap); cpu >= 0; cpu = hwloc_bitmap_next(bitmap, cpu))
    cpus.insert(static_cast<std::uint32_t>(cpu));
  return cpus;
}

template <class Visit> void for_each_object(hwloc_topology_t handle, hwloc_obj_type_t type, Visit visit) {
  for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_obj_by_type(handle, type, o)) != nullptr;) visit(*o);
}

std::optional<std::uint32_t> os_index(const hwloc_obj& o) {
  if (o.os_index == HWLOC_UNKNOWN_INDEX) return std::nullopt;
  return o.os_index;
}

const hwloc_obj* outermost_data_cache(const hwloc_obj& pu) {
  const hwloc_obj* outermost = nullptr;
  for (const auto* o = pu.parent; o != nullptr; o = o->parent)
    if (hwloc_obj_type_is_dcache(o->type) != 0) outermost = o;
  return outermost;
}

const hwloc_obj* ancestor(const hwloc_obj& pu, hwloc_obj_type_t type) {
  for (const auto* o = pu.parent; o != nullptr; o = o->parent)
    if (o->type == type) return o;
  return nullptr;
}

[[noreturn]] void refuse_number(const hwloc_obj& pu) {
  throw topology_error(
      fmt::format("the source has the CPU number {} twice, or it is above {}, the largest there can be",
                  pu.os_index, cpu_set::largest));
}

/// Walks the CPUs in logical order, so that cores and caches come out in that order too.
void scan_cpus(hwloc_topology_t handle, machine_scan& scan) {
  std::map<const hwloc_obj*, std::size_t> core_at;
  std::map<const hwloc_obj*, std::size_t> llc_at;
  for_each_object(handle, HWLOC_OBJ_PU, [&](const hwloc_obj& pu) {
    if (pu.os_index > cpu_set::largest || scan.cpus.contains(pu.os_index)) refuse_number(pu);
    scan.cpus.insert(pu.os_index);
    const auto* core = ancestor(pu, HWLOC_OBJ_CORE);
    const auto [c, new_core] = core_at.try_emplace(core != nullptr ? core : &pu, scan.cores.size());
    if (new_core) scan.cores.emplace_back();
    scan.cores[c->second].insert(pu.os_index);
    const auto* cache = outermost_data_cache(pu);
    if (cache == nullptr) return;
    const auto [l, new_llc] = llc_at.try_emplace(cache, scan.llcs.size());
    if (new_llc) scan.llcs.push_back({cache->attr->cache.depth, {}});
    scan.llcs[l->second].cpus.insert(pu.os_index);
  });
}

void scan_packages(hwloc_topology_t handle, machine_scan& scan) {
  for_each_object(handle, HWLOC_OBJ_PACKAGE,
                  [&](const hwloc_obj& o) { scan.packages.push_back({os_index(o), to_cpu_set(o.cpuset)}); });
}

bool is_special(const hwloc_obj& node) {
  return node.subtype != nullptr && *node.subtype != '\0' && std::strcmp(node.subtype, "DRAM") != 0;
}

void scan_nodes(hwloc_topology_t handle, machine_scan& scan) {
  for_each_object(handle, HWLOC_OBJ_NUMANODE, [&](const hwloc_obj& o) {
    scan.nodes.push_back({o.os_index, to_cpu_set(o.cpuset), o.attr->numanode.local_memory, is_special(o)});
  });
  if (scan.nodes.size() > most_nodes) // of levels without a name hwloc makes one that of nodes
    throw topology_error(
        fmt::format("the source has {} NUMA nodes, and {} are the most that can be described",
                    scan.nodes.size(), most_nodes));
  std::ranges::sort(scan.nodes, {}, &scanned_node::os_index);
  const auto twice = std::ranges::adjacent_find(scan.nodes, {}, &scanned_node::os_index);
  if (twice != scan.nodes.end())
    throw topology_error(fmt::format("the source has the NUMA node {} twice", twice->os_index));
}

std::uint32_t to_number(const char* text) {
  std::uint32_t number = 0;
  std::from_chars(text, text + std::strlen(text), number);
  return number;
}

void read_trait(cpu_traits& traits, const hwloc_info_s& info) {
  const std::string_view name = info.name;
  if (name == "CoreType") traits.core_type = core_type_word(info.value);
  if (name == "CPUPart") traits.part = info.value;
  if (name == "LinuxCapacity") traits.capacity = to_number(info.value);
  if (name == "FrequencyMaxMHz") traits.max_mhz = to_number(info.value);
  if (name == "FrequencyBaseMHz") traits.base_mhz = to_number(info.value);
}

/// Reads hwloc's kinds. They may name CPUs that the machine does not have; the scan leaves those out.
void scan_kinds(hwloc_topology_t handle, machine_scan& scan) {
  const int kinds = hwloc_cpukinds_get_nr(handle, 0);
  if (kinds <= 0) return;
  const std::unique_ptr<hwloc_bitmap_s, void (*)(hwloc_bitmap_t)> bitmap(hwloc_bitmap_alloc(),
                                                                         hwloc_bitmap_free);
  for (unsigned kind = 0; kind < static_cast<unsigned>(kinds); ++kind) {
    unsigned count = 0;
    hwloc_info_s* infos = nullptr;
    cpu_traits traits;
    if (hwloc_cpukinds_get_info(handle, kind, bitmap.get(), &traits.rank, &count, &infos, 0) != 0) continue;
    for (unsigned i = 0; i < count; ++i) read_trait(traits, infos[i]);
    hwloc_bitmap_and(bitmap.get(), bitmap.get(), hwloc_get_root_obj(handle)->cpuset);
    for (const auto cpu : to_cpu_set(bitmap.get()).to_vector()) {
      if (cpu >= scan.traits.size()) scan.traits.resize(cpu + 1);
      scan.traits[cpu] = traits;
    }
  }
}

bool is_node_latency(const hwloc_distances_s& matrix, const char* name) {
  if ((matrix.kind & HWLOC_DISTANCES_KIND_MEANS_LATENCY) == 0) return false;
  if (name != nullptr && *name != '\0' && std::strcmp(name, "NUMALatency") != 0) return false;
  return std::all_of(matrix.objs, matrix.objs + matrix.nbobjs,
                     [](hwloc_obj_t o) { return o != nullptr && o->type == HWLOC_OBJ_NUMANODE; });
}

/// Returns the matrix in ascending order of the nodes' numbers; hwloc's order is arbitrary. Returns nothing
/// when the matrix makes no sense.
std::optional<node_distances> to_distances(const hwloc_distances_s& matrix) {
  const std::size_t count = matrix.nbobjs;
  std::map<std::uint32_t, std::size_t> row_of;
  for (std::size_t i = 0; i < count; ++i) row_of.emplace(matrix.objs[i]->os_index, i);
  if (row_of.size() != count || count == 0) return std::nullopt;
  node_distances distances;
  for (const auto& [from, row] : row_of) {
    distances.nodes.push_back(from);
    auto& values = distances.matrix.emplace_back();
    for (const auto& [to, column] : row_of) {
      const auto value = matrix.values[row * count + column];
      if (value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
      values.push_back(static_cast<std::uint32_t>(value));
    }
  }
  return distances;
}

/// Reads the distances of the nodes. A machine may have matrices of other things too (GPUs, packages,
/// bandwidths): the first one of node latencies counts.
void scan_distances(hwloc_topology_t handle, machine_scan& scan) {
  unsigned count = 0;
  if (hwloc_distances_get(handle, &count, nullptr, 0, 0) != 0 || count == 0) return;
  std::vector<hwloc_distances_s*> matrices(count);
  if (hwloc_distances_get(handle, &count, matrices.data(), 0, 0) != 0) return;
  matrices.resize(std::min<std::size_t>(count, matrices.size()));
  bool found = false;
  for (auto* matrix : matrices) {
    if (!found && is_node_latency(*matrix, hwloc_distances_get_name(handle, matrix))) {
      found = true;
      scan.distances = to_distances(*matrix);
      if (!scan.distances)
        scan.warnings.emplace_back("the source's NUMA distances make no sense and are ignored");
    }
    hwloc_distances_release(handle, matrix);
  }
}

machine_scan scan_loaded(hwloc_topology_t handle) {
  machine_scan scan;
  if (const auto* name = hwloc_obj_get_info_by_name(hwloc_get_root_obj(handle), "Architecture"))
    scan.architecture = name;
  scan_cpus(handle, scan);
  if (scan.cpus.empty()) throw topology_error("the source describes a machine without a usable CPU");
  scan_packages(handle, scan);
  scan_nodes(handle, scan);
  scan_kinds(handle, scan);
  scan_distances(handle, scan);
  return scan;
}

constexpr std::array all_redirections{"HWLOC_XMLFILE",    "HWLOC_SYNTHETIC",  "HWLOC_FSROOT",
                                      "HWLOC_CPUID_PATH", "HWLOC_COMPONENTS", "HWLOC_THISSYSTEM"};

template <std::size_t N>
std::vector<const char*> set_in_environment(const std::array<const char*, N>& names) {
  std::vector<const char*> set;
  std::ranges::copy_if(names, std::back_inserter(set),
                       [](const char* name) { return std::getenv(name) != nullptr; });
  return set;
}

/// The environment variables that make hwloc show another machine and call it this one.
std::vector<const char*> lies_in_environment() {
  if (std::getenv("HWLOC_THISSYSTEM") == nullptr) return {};
  return set_in_environment(
      std::array{"HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT", "HWLOC_CPUID_PATH"});
}

/// HWLOC_THISSYSTEM makes hwloc call every machine this system, so hwloc's answer proves nothing then.
bool claims_to_be_this_system(hwloc_topology_t handle) {
  return hwloc_topology_is_thissystem(handle) != 0 && std::getenv("HWLOC_THISSYSTEM") == nullptr;
}

} // namespace

machine_scan scan_xml(const xml_source& source) {
  const auto text = read_hwloc_xml(source.file);
  const auto& name = source.file;
  const std::scoped_lock lock(use_of_hwloc);
  const auto handle = new_handle();
  if (hwloc_topology_set_xmlbuffer(handle.get(), text.c_str(), static_cast<int>(text.size() + 1)) != 0 ||
      hwloc_topology_load(handle.get()) != 0 || claims_to_be_this_system(handle.get()))
    throw topology_error(
        fmt::format("topology source xml: {}: hwloc cannot read it: it is damaged or not a complete "
                    "hwloc XML file (lstopo writes one: lstopo FILE.xml)",
                    name));
  try {
    return scan_loaded(handle.get());
  } catch (const topology_error& error) {
    throw topology_error(fmt::format("topology source xml: {}: {}", name, error.what()));
  }
}

machine_scan scan_synthetic(const synthetic_source& source) {
  check_synthetic_size(source.text);
  const std::scoped_lock lock(use_of_hwloc);
  const auto handle = new_handle();
  if (hwloc_topology_set_synthetic(handle.get(), source.text.c_str()) != 0 ||
      hwloc_topology_load(handle.get()) != 0 || claims_to_be_this_system(handle.get()))
    throw topology_error(fmt::format("topology source synthetic: hwloc refuses \"{}\"; a description names "
                                     "levels from outside in, each with one "
                                     "count, and ends in pu, such as \"pack:2 numa:1 l3:4 core:8 pu:2\"",
                                     source.text));
  return scan_loaded(handle.get());
}

machine_scan scan_this_machine() {
  const std::scoped_lock lock(use_of_hwloc);
  const auto handle = new_handle();
  if (hwloc_topology_load(handle.get()) != 0)
    throw topology_error(
        fmt::format("topology source live: hwloc cannot look at this machine: {}", std::strerror(errno)));
  if (hwloc_topology_is_thissystem(handle.get()) == 0 || !lies_in_environment().empty())
    throw topology_error(
        fmt::format("topology source live: hwloc shows another machine, because the environment says so "
                    "({}); unset that to see this one",
                    fmt::join(set_in_environment(all_redirections), ", ")));
  auto scan = scan_loaded(handle.get());
  scan.this_system = true;
  for (const auto* name : set_in_environment(all_redirections))
    scan.warnings.push_back(
        fmt::format("{} is set in the environment: hwloc may see less of this machine", name));
  return scan;
}

} // namespace corewise::detail
