// A server of Asio's: one context, and threads that run it.
#include <boost/asio.hpp>

#include <cstdio>
#include <thread>
#include <vector>

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

asio::awaitable<void> serve(tcp::acceptor& from) {
  for (;;) {
    tcp::socket peer = co_await from.async_accept(asio::use_awaitable);
    const auto on = peer.get_executor();
    asio::co_spawn(on, echo(std::move(peer)), asio::detached);
  }
}

int main() {
  asio::io_context context;
  tcp::acceptor from(context, {asio::ip::address_v4::loopback(), 0});
  asio::co_spawn(context, serve(from), asio::detached);
  asio::signal_set signals(context, SIGTERM);
  signals.async_wait([&](const boost::system::error_code&, int) { context.stop(); });
  std::printf("%d\n", from.local_endpoint().port());
  std::fflush(stdout);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back([&] { context.run(); });
  for (std::thread& t : threads) t.join();
}
