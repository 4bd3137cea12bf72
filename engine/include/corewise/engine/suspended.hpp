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

/// A coroutine that waits for an operation of a descriptor: of a socket, a listening one too, a pipe, a serial port. Of TLS
/// and composed operations of Beast the streams below are here, if they are `io::basic_stream`.
struct socket_wait {
  group_id group; ///< the one in which its event comes
  wait_kind kind = wait_kind::io;
  int descriptor = -1;
  /// "10.0.0.7:443", the path of a unix socket, "@" and its abstract name. Where a socket has no peer, as one that listens,
  /// "local " and its own address; empty: it has neither, or no name.
  std::string peer;
  std::chrono::nanoseconds time{0}; ///< for how long, to some milliseconds
};
/// Returns "io: read of descriptor 12 (10.0.0.7:443) for 3.2 s".
std::string to_text(const socket_wait& wait);

} // namespace corewise
