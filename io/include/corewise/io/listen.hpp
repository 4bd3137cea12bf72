#pragma once

#include <corewise/io/service.hpp>
#include <corewise/io/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace corewise::io {

/// How `listen` accepts connections.
struct listen_options {
  /// The group to which a connection goes.
  enum class balancing : std::uint8_t {
    /// That of the CPU that receives its packets; the kernel chooses for other CPUs. While that group has no active workers
    /// its socket goes on getting connections: they are accepted near by, and go to the lightest group. That costs each
    /// one way from group to group.
    receiving_cpu,
    /// That with the least (open connections + 1) × 1024 / capacity of its active workers, as a reload and the host leave
    /// it now. Of several, that whose workers were less busy in the last second; where no connection came for longer,
    /// since then. A group without active workers gets none. Cost: some loads for each group, once a second some for
    /// each worker.
    lightest,
  } balance = balancing::receiving_cpu;
  /// The treatment of connections in excess of `most_connections`, and of all while the engine is full
  /// (`limits.in_flight`).
  enum class excess : std::uint8_t {
    wait,   ///< they wait until others have ended, most of them in the kernel
    refuse, ///< they are closed at once
  } on_excess = excess::wait;

  std::uint32_t most_connections = 0; ///< open at once, of all groups; 0: no limit
  /// How long each wait for a client lasts, to read and to write (`basic_stream::limit_waits`). 0 or less: no limit.
  any_duration idle = std::chrono::nanoseconds{0};
  any_duration write = std::chrono::nanoseconds{0};
  /// Connections that wait in the kernel, which may allow fewer (net.core.somaxconn); negative: as many as it allows.
  /// Without effect on adopted sockets.
  int backlog = 4096;
  /// Sockets that listen already, as systemd hands them over; then no other is opened. They become the
  /// listener's, which sets them not to block and to be closed on exec. Each connection goes to the lightest group: they
  /// may be of several addresses, and not one for each group.
  std::vector<int> adopted = {};
};

/// How many connections a listener has seen.
struct listener_counts {
  std::uint64_t accepted = 0; ///< given to the handler
  std::uint64_t open = 0;     ///< whose handlers have not ended
  std::uint64_t refused = 0;  ///< closed without one
};

namespace detail {

/// Accepts connections in each group, and gives them to handlers.
class listener_core;

/// Begins to handle a connection, on that executor. It takes the descriptor over, also where it throws, and notes when it
/// has the stream: what is thrown afterwards is of the user's handler.
using connection_handler = std::function<task<>(executor, int descriptor, bool& has_stream)>;

/// Starts a listener for each of the services, at least one, all at one address.
std::vector<std::shared_ptr<listener_core>> start_listeners(std::span<service* const> all,
                                                            const sockaddr* address, std::size_t size,
                                                            const listen_options& options,
                                                            const connection_handler& handler);

template <class Protocol, class Handler>
connection_handler handle_by(Protocol protocol, const listen_options& options, Handler handler) {
  return [protocol, idle = options.idle, write = options.write,
          handler = std::move(handler)](executor here, int descriptor, bool& has_stream) -> task<> {
    auto stream = adopted<basic_stream<Protocol>>(here, protocol, descriptor);
    stream.limit_waits(idle, write);
    has_stream = true;
    return handler(std::move(stream));
  };
}

} // namespace detail

/// A server's end of connections. A handle: the destructor leaves the listener as it is.
class listener {
 public:
  /// Accepts no connections any more, but those that wait in the kernel's queues, as far as `most_connections` and
  /// descriptors go: they are handled, and then the sockets are closed. Of those that come meanwhile some are handled too,
  /// `backlog` at most, and of an adopted socket as many as the kernel allows any. The kernel resets the others, and those
  /// whose handshake is not finished. Call from any thread. The stop of `engine::stop_token` does the same.
  /// In the child of a process fork it closes the child's descriptors of the sockets, and no more: else the address
  /// stays taken when the parent has closed its own. It may be called between `fork` and exec.
  void stop() noexcept;
  /// Waits until the sockets are closed, after a stop. Call from a thread outside the engine. In the child of a process fork
  /// it returns at once.
  void wait_until_closed() const;

  listener_counts counts() const noexcept;
  /// Returns the same for the connections of a group.
  listener_counts counts(group_id g) const;
  /// Returns the port on which it listens; 0 for a unix socket.
  std::uint16_t port() const noexcept;

  explicit listener(std::shared_ptr<detail::listener_core> core) noexcept : core_(std::move(core)) {}

 private:
  std::shared_ptr<detail::listener_core> core_;
};

/// Accepts connections on an endpoint, and runs `handler(stream)`, which returns a `task<>`, for each, as a task
/// of the group to which the connection goes. Each group has a socket of its own on the endpoint, if there are
/// several (SO_REUSEPORT), so that a connection is accepted, and handled, where its packets come. A unix socket is one
/// for all: its connections go to the lightest group. An exception that leaves a handler is that of a task: by default it
/// ends the process (`on_exception`), so a handler takes the errors that a peer can cause by `into`. The sockets are
/// closed on exec, and do not block.
///
/// While the process has no descriptors or memory for connections, they wait in the kernel, or are closed, and the log is
/// told once. Throws `system_error` (the address is in use, an adopted socket does not listen, and the like; adopted
/// sockets are closed then), `std::bad_alloc`.
template <class Endpoint, class Handler>
listener listen(service& io, const Endpoint& on, const listen_options& options, Handler handler) {
  service* const one[] = {&io};
  return listener(detail::start_listeners(one, on.data(), on.size(), options,
                                          detail::handle_by(on.protocol(), options, std::move(handler)))
                      .front());
}

/// Does the same for several engines, as those of an `engine_set`: each has a listener of its own on the endpoint, with
/// these options, and takes the connections whose packets its CPUs receive. They go where they come only while all
/// listen. Of adopted sockets each engine gets every so many-th; there must be one for each.
template <class Endpoint, class Handler>
std::vector<listener> listen(std::span<service* const> all, const Endpoint& on, const listen_options& options,
                             Handler handler) {
  std::vector<listener> listeners;
  for (auto& core : detail::start_listeners(all, on.data(), on.size(), options,
                                            detail::handle_by(on.protocol(), options, std::move(handler))))
    listeners.emplace_back(std::move(core));
  return listeners;
}

} // namespace corewise::io
