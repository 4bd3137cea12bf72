// The same server on corewise: its coroutines run on the workers of an engine.
#include <corewise/engine/engine.hpp>
#include <corewise/io/service.hpp>

#include <cstdio>
#include <utility>

namespace asio = boost::asio;
using asio::ip::tcp;

asio::awaitable<void> echo(tcp::socket peer) {
  char bytes[4096];
  for (;;) {
    const auto [why, n] =
        co_await peer.async_read_some(asio::buffer(bytes), asio::as_tuple(asio::use_awaitable));
    if (why) co_return;
    co_await asio::async_write(peer, asio::buffer(bytes, n), asio::use_awaitable);
  }
}

asio::awaitable<void> serve(tcp::acceptor from) {
  for (;;) {
    tcp::socket peer = co_await from.async_accept(asio::use_awaitable);
    const auto on = peer.get_executor();
    asio::co_spawn(on, echo(std::move(peer)), asio::detached);
  }
}

int main() {
  corewise::engine engine;
  corewise::io::service service(engine);
  tcp::acceptor from(service.local(), {asio::ip::address_v4::loopback(), 0});
  std::printf("%d\n", from.local_endpoint().port());
  asio::co_spawn(service.local(), serve(std::move(from)), asio::detached); // the engine's end ends it
  asio::signal_set signals(service.local(), SIGTERM);
  std::fflush(stdout);
  signals.async_wait(asio::use_future).wait();
}
