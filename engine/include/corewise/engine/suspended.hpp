#pragma once

#include <corewise/topology/ids.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace corewise {

/// The kind of thing for which a suspended coroutine waits.
enum class wait_kind : std::uint8_t {
  event,
  auto_reset_event,
  semaphore,
  mutex,
  latch,
  barrier,
  send,    ///< room in a channel, or a receiver
  receive, ///< a channel's next value
  oneshot,
  future,
  blocking_call, ///< `run_blocking`, while `blocking.max_concurrent` other calls run
  read,          ///< bytes or packets from a socket
  write,         ///< room in a socket
  accept,        ///< a client's connection
  connect,       ///< a server's answer
  io,            ///< another operation of corewise::io: a timer, a signal, a handshake of TLS
};
inline constexpr std::size_t wait_kinds = static_cast<std::size_t>(wait_kind::io) + 1;
std::string_view to_string(wait_kind kind) noexcept;

/// The number of coroutines that wait for things of one kind. Coroutines that sleep, or wait for their
/// children, are not among them. Each child of `when_all` or of a scope counts for itself, and a
/// coroutine in `select` once for each thing.
struct suspended_in {
  wait_kind kind = wait_kind::event;
  std::uint64_t coroutines = 0;
};

/// A coroutine that waits at a stream (`io::stream`): to read, to write, or to be connected.
struct socket_wait {
  group_id group; ///< the socket's
  wait_kind kind = wait_kind::io;
  int descriptor = -1;
  std::string peer;                 ///< "10.0.0.7:443"; empty: it is none of IP, or has gone
  std::chrono::nanoseconds time{0}; ///< for how long, to some milliseconds
};

} // namespace corewise
