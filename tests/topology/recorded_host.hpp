#pragma once

#include "temporary_tree.hpp"

#include <string>

namespace corewise::tests {

/// A recorded machine with a cache for each two of its CPUs, 0 to `cpus` - 1, whose limits tests change: a process in a
/// version 2 control group. It has one package, or as many with so many CPUs each.
class recorded_host {
 public:
  explicit recorded_host(int cpus, int per_package = 1 << 20)
      : per_package_(per_package),
        all_("0-" + std::to_string(cpus - 1)) {
    tree_.write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    tree_.write("proc/self/cgroup", "0::/pod\n");
    for (int cpu = 0; cpu < cpus; ++cpu) write_cpu(cpu);
    online(all_);
    allow(all_);
    quota("max 100000");
  }

  std::string root() const { return tree_.root(); }
  void online(const std::string& cpus) const { tree_.write("sys/devices/system/cpu/online", cpus + "\n"); }
  void quota(const std::string& max) const { tree_.write("sys/fs/cgroup/pod/cpu.max", max + "\n"); }
  void threads(int most) const { tree_.write("sys/fs/cgroup/pod/pids.max", std::to_string(most) + "\n"); }
  void cpuset(const std::string& cpus) const {
    tree_.write("sys/fs/cgroup/pod/cpuset.cpus.effective", cpus + "\n");
  }
  /// Sets the largest frequency that a CPU has, and the one that it is allowed, in kHz.
  void frequency(int cpu, int own, int allowed) const {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/";
    tree_.write(folder + "cpuinfo_max_freq", std::to_string(own) + "\n");
    tree_.write(folder + "scaling_max_freq", std::to_string(allowed) + "\n");
  }
  /// Sets what the firmware says of the performance of a CPU; `figure`: highest_perf, guaranteed_perf ...
  void performance(int cpu, const std::string& figure, const std::string& is) const {
    tree_.write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/acpi_cppc/" + figure, is + "\n");
  }
  void write(const std::string& file, const std::string& text) const { tree_.write(file, text); }
  /// Gives it two memory nodes, with half of the CPUs each.
  void two_nodes(int cpus) const {
    const std::string half = std::to_string(cpus / 2);
    const std::string lists[] = {"0-" + std::to_string(cpus / 2 - 1), half + "-" + std::to_string(cpus - 1)};
    for (int node = 0; node < 2; ++node) {
      const std::string folder = "sys/devices/system/node/node" + std::to_string(node) + "/";
      tree_.write(folder + "cpulist", lists[node] + "\n");
      tree_.write(folder + "meminfo", "Node " + std::to_string(node) + " MemTotal: 1024 kB\n");
      tree_.write(folder + "distance", node == 0 ? "10 20\n" : "20 10\n");
    }
    memory("0-1");
  }
  /// Sets which nodes have memory.
  void memory(const std::string& nodes) const {
    tree_.write("sys/devices/system/node/has_memory", nodes + "\n");
  }
  /// Puts the process into a namespace of control groups, as a container's.
  void in_container() const {
    std::filesystem::create_directories(tree_.root() / "proc/self/ns");
    std::filesystem::create_symlink("cgroup:[4026532301]", tree_.root() / "proc/self/ns/cgroup");
  }
  /// Sets the affinity mask.
  void allow(const std::string& cpus) const {
    tree_.write("proc/self/status", "Name:\tx\nCpus_allowed_list:\t" + cpus + "\n");
  }

 private:
  void write_cpu(int cpu) const {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/";
    const std::string cache = folder + "cache/index0/";
    const int first = cpu / 2 * 2;
    tree_.write(folder + "topology/physical_package_id", std::to_string(cpu / per_package_) + "\n");
    tree_.write(folder + "topology/core_cpus_list", std::to_string(cpu) + "\n");
    tree_.write(cache + "level", "3\n");
    tree_.write(cache + "type", "Unified\n");
    tree_.write(cache + "shared_cpu_list", std::to_string(first) + "-" + std::to_string(first + 1) + "\n");
  }

  temporary_tree tree_;
  int per_package_;
  std::string all_;
};

} // namespace corewise::tests
