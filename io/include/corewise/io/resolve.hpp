#pragma once

#include <corewise/engine/task.hpp>
#include <corewise/io/asio.hpp>

#include <stop_token>
#include <string>
#include <vector>

namespace corewise::io {

/// Looks up the addresses of a host and a service ("example.org", "https"; or a number). The call of the system
/// blocks, and runs in `run_blocking`; Asio's own resolver would start a thread. Of a name it gives the addresses of the
/// families of which the host has some itself, and all where there is none of those; an address as such is always taken.
/// A stop ends the wait with `asio::error::operation_aborted`; nothing can end the call itself, which goes on in a task of its
/// own until the system answers. Throws `system_error` of Asio's categories (`asio::error::host_not_found`; `service_not_found`,
/// also for a number above 65535), `std::bad_alloc`, `blocking_full`.
task<std::vector<asio::ip::tcp::endpoint>> resolve(std::string host, std::string service,
                                                   std::stop_token stop = {});

} // namespace corewise::io
