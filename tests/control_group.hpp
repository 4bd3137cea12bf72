#pragma once

#include "within.hpp"

#include <corewise/topology/cpu_set.hpp>

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

// Shared by the tests of what the kernel gives a process.

namespace corewise::tests {

/// A control group of version 1 of the test's own, below that of this process.
class control_group {
 public:
  /// Makes one of that controller, which allows what the one above it does; or none, and `why_not` says why.
  explicit control_group(const std::string& controller) {
    std::ifstream memberships("/proc/self/cgroup");
    const std::string listed = ":" + controller + ":";
    std::filesystem::path above;
    for (std::string line; std::getline(memberships, line);)
      if (const auto at = line.find(listed); at != std::string::npos)
        above = "/sys/fs/cgroup/" + controller + line.substr(at + listed.size());
    if (above.empty()) {
      why_not_ = "no control group of version 1 with the controller " + controller;
      return;
    }
    const std::filesystem::path folder = above / ("corewise-test-" + std::to_string(::getpid()));
    std::error_code error;
    if (!std::filesystem::create_directory(folder, error)) {
      why_not_ = folder.string() + " cannot be made: " + error.message();
      return;
    }
    folder_ = folder;
    if (controller != "cpuset") return;
    for (const char* file : {"cpuset.mems", "cpuset.cpus"}) { // a new group has none, and takes no process
      std::ifstream in(above / file);
      std::string text;
      if (!std::getline(in, text) || !write(file, text))
        why_not_ = (folder / file).string() + " cannot be written";
    }
  }
  control_group(const control_group&) = delete;
  control_group& operator=(const control_group&) = delete;
  ~control_group() {
    std::error_code ignored; // a process that has just ended may still be there
    const auto removed = [&] { return std::filesystem::remove(folder_, ignored); };
    if (!folder_.empty()) static_cast<void>(within(std::chrono::seconds{5}, removed));
  }
  /// Returns why there is none; empty: there is one.
  const std::string& why_not() const { return why_not_; }
  /// Sets the quota, in CPUs; below 0: none.
  bool quota(double cpus) const {
    return write("cpu.cfs_quota_us", cpus < 0 ? "-1" : std::to_string(static_cast<long>(cpus * 100'000)));
  }
  bool cpus(const cpu_set& these) const { return write("cpuset.cpus", these.to_string()); }
  bool enter() const { return write("cgroup.procs", "0"); }
  /// Puts the process back into the group above.
  bool leave() const { return write("../cgroup.procs", "0"); }

 private:
  bool write(const char* file, const std::string& text) const {
    std::ofstream out(folder_ / file);
    return static_cast<bool>(out << text << std::flush);
  }

  std::filesystem::path folder_;
  std::string why_not_;
};

} // namespace corewise::tests
