#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace corewise {

/// Returns how many threads the control group of this process and its ancestors allow (`pids.max`; systemd's `TasksMax`),
/// read below `root`. Threads of other processes of the group count as well. Nothing: there is no limit. Cost: some ten
/// files. Any thread. Throws nothing but `std::bad_alloc`. Source: the kernel's cgroup-v2.rst, "PID".
std::optional<std::uint64_t> read_thread_limit(const std::filesystem::path& root = "/");

} // namespace corewise
