#pragma once

#include "within.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/io/listen.hpp>

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <utility>

// What the tests of sockets share.

#ifndef COREWISE_STANDALONE_ASIO // else that is its name
namespace asio = corewise::io::asio;
#endif
using tcp = asio::ip::tcp;

/// An engine with a service, of as many workers. No worker is tied to a core.
struct served_engine {
  explicit served_engine(std::uint32_t workers) : engine(profile_of(workers)), io(engine) {}

  static corewise::profile profile_of(std::uint32_t workers) {
    corewise::profile p;
    p.workers.total = workers;
    p.workers.pin = corewise::pin_to::none;
    return p;
  }

  corewise::engine engine;
  corewise::io::service io;
};

/// A machine whose two packages are a group each, with one worker.
inline corewise::profile two_packages() {
  corewise::profile p;
  p.workers.pin = corewise::pin_to::none;
  p.workers.per_group = 1;
  p.topology.machine.source = corewise::synthetic_source{"pack:2 numa:1 l3:1 core:4 pu:1"};
  return p;
}

inline tcp::endpoint on_loopback(std::uint16_t port = 0) { return {asio::ip::address_v4::loopback(), port}; }

/// Sends back what comes.
inline corewise::task<> echo(corewise::io::tcp_stream peer) {
  char bytes[4096];
  for (;;) {
    corewise::io::error_code why;
    const std::size_t n =
        co_await peer.async_read_some(asio::buffer(bytes), corewise::io::use_task.into(why));
    if (why) co_return;
    co_await asio::async_write(peer, asio::buffer(bytes, n), corewise::io::use_task.into(why));
    if (why) co_return;
  }
}

/// Returns hooks that count the lines of the log with that code.
inline corewise::engine_hooks counting(corewise::log_code of, std::atomic<int>& lines) {
  corewise::engine_hooks hooks;
  hooks.on_log_record = [of, &lines](const corewise::log_record& r) { lines += r.code == of ? 1 : 0; };
  return hooks;
}

/// Connects as a plain client does. Returns the socket.
inline int connect_plainly(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const tcp::endpoint to = on_loopback(port);
  REQUIRE(::connect(fd, to.data(), static_cast<socklen_t>(to.size())) == 0);
  return fd;
}

/// Returns whether an echo answers on that socket.
inline bool answers(int fd) {
  char byte = 0;
  return ::send(fd, "x", 1, MSG_NOSIGNAL) == 1 && ::recv(fd, &byte, 1, 0) == 1;
}

/// Returns two streams that are connected to each other.
inline std::pair<corewise::io::unix_stream, corewise::io::unix_stream>
make_pair(const corewise::io::service& io) {
  std::pair<corewise::io::unix_stream, corewise::io::unix_stream> ends(io.local(), io.local());
  asio::local::connect_pair(ends.first, ends.second);
  ends.first.native_non_blocking(true); // so that one task may read while another writes
  ends.second.native_non_blocking(true);
  return ends;
}

/// Requests a stop beside something that completes an operation: in even rounds that comes first, in odd ones the stop. The
/// second one comes the later the higher the round is, up to 160 us in round 400.
template <class Happens> void stop_beside(int round, std::stop_source& stop, const Happens& happens) {
  const bool stop_is_first = round % 2 != 0;
  if (stop_is_first)
    stop.request_stop();
  else
    happens();
  const auto second =
      std::chrono::steady_clock::now() + std::chrono::nanoseconds(std::int64_t{round} * round);
  while (std::chrono::steady_clock::now() < second) {
  }
  if (stop_is_first)
    happens();
  else
    stop.request_stop();
}

/// Returns whether no operation waits any more, soon: a thread may still be on its way out of the last one.
inline bool comes_to_rest(const corewise::io::service& io) {
  return within(std::chrono::seconds{5}, [&] { return io.operations() == 0; });
}
