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
/// A stop ends the wait with `asio::error::operation_aborted`. Nothing can end the call itself: so with a token it is
/// made in a task of its own, which goes on until the system answers. An engine that is full refuses that task
/// (`no_buffer_space`), one that shuts down as well (`operation_aborted`). Throws `system_error` of Asio's categories
/// (`asio::error::host_not_found`; `service_not_found`, also for a number above 65535; those above), `std::bad_alloc`,
/// `blocking_full`.
task<std::vector<asio::ip::tcp::endpoint>> resolve(std::string host, std::string service,
                                                   std::stop_token stop = {});

} // namespace corewise::io
