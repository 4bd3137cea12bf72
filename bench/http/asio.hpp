#pragma once

#include "server.hpp"

#include <boost/asio.hpp>

// A server of Asio's: the same code as corewise's, with Asio's coroutines.

namespace http_bench {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

template <class Socket> asio::awaitable<void> serve(Socket peer, asio::thread_pool& blocking) {
  boost::beast::flat_buffer buffer;
  for (bool keep = true; keep;) {
    request asked;
    const auto [unread, got] =
        co_await http::async_read(peer, buffer, asked, asio::as_tuple(asio::use_awaitable));
    if (unread) co_return;
    const work what = work_of(asked);
    if (what == work::block)
      co_await asio::co_spawn(
          blocking,
          []() -> asio::awaitable<void> {
            block();
            co_return;
          },
          asio::use_awaitable);
    const response res = answer(asked, what);
    keep = res.keep_alive();
    const auto [unsent, sent] = co_await http::async_write(peer, res, asio::as_tuple(asio::use_awaitable));
    if (unsent) co_return;
  }
  boost::system::error_code ignored;
  peer.shutdown(Socket::shutdown_send, ignored);
}

/// A socket that listens; `shared`: others listen on the same port.
inline tcp::acceptor listening(asio::io_context& on, std::uint16_t port, bool shared) {
  tcp::acceptor a(on);
  a.open(tcp::v4());
  a.set_option(tcp::acceptor::reuse_address(true));
  if (shared) a.set_option(asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>(true));
  a.bind(tcp::endpoint(asio::ip::address_v4::loopback(), port));
  a.listen(4096);
  return a;
}

inline asio::awaitable<void> accept(tcp::acceptor& from, asio::thread_pool& blocking) {
  for (;;) {
    tcp::socket peer = co_await from.async_accept(asio::use_awaitable);
    peer.set_option(tcp::no_delay(true));
    const auto on = peer.get_executor();
    asio::co_spawn(on, serve(std::move(peer), blocking), asio::detached);
  }
}

} // namespace http_bench
