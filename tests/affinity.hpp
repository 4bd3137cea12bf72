#pragma once

#include <corewise/topology/cpu_set.hpp>

#include <sched.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

namespace corewise::tests {

/// Does what `taskset -a` does to this process.
inline void set_affinity_of_all_threads(const cpu_set& cpus) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const std::uint32_t c : cpus.to_vector()) CPU_SET(c, &mask);
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", gone))
    static_cast<void>(::sched_setaffinity(std::stoi(thread.path().filename()), sizeof mask, &mask));
}

} // namespace corewise::tests
