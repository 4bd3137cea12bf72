#pragma once

#include "descriptor.hpp"

#include <corewise/io/listen.hpp>
#include <corewise/topology/cpu_set.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace corewise::io::detail {

/// The sockets that one listener wants: of each the CPUs that are to receive its connections; no CPU: it does not matter.
using wanted_sockets = std::vector<cpu_set>;

struct listening_sockets {
  std::vector<std::vector<descriptor>> of; ///< each listener, in order
  int not_steered = 0; ///< why connections do not go by CPU, an errno; 0: they do, or need not
};

/// Opens the sockets of several listeners on one endpoint, and has the kernel choose one by the CPU that receives a
/// connection; without that it chooses by a hash, which only costs locality. A unix socket has one queue, from which all
/// accept. Sockets that are adopted (`options`) are dealt in turn. Throws `system_error`, `std::bad_alloc`.
listening_sockets open_sockets(const sockaddr* address, std::size_t size, const listen_options& options,
                               const std::vector<wanted_sockets>& wanted);

/// Returns how many connections may wait in the kernel for one of the sockets, at most.
std::int64_t most_waiting(const listen_options& options);

/// Returns whether accept failed because of the connection that it took from the queue (accept(2)), or was interrupted.
bool is_of_connection(int error) noexcept;

/// Returns the port of a socket of IP; 0: it has none.
std::uint16_t port_of(int fd) noexcept;

} // namespace corewise::io::detail
