#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <vector>

namespace corewise::io::detail {

/// CPUs, and which of the sockets of an endpoint their connections go to.
struct cpu_range {
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t socket;
};

/// Returns a program for SO_ATTACH_REUSEPORT_CBPF: it chooses the socket by the CPU that receives the packet.
/// `ranges` in ascending order, and apart from each other. For other CPUs the kernel chooses. Empty if it were
/// longer than the kernel takes.
std::vector<sock_filter> steering_program(const std::vector<cpu_range>& ranges);

} // namespace corewise::io::detail
