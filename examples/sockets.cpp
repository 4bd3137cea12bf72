// A server that sends back what it gets, and a client: sockets of coroutines, on the workers themselves.
#include <corewise/engine/engine.hpp>
#include <corewise/io/listen.hpp>

#include <cstdio>
#include <string>

namespace io = corewise::io;
using namespace std::chrono_literals;

namespace {

namespace asio = io::asio;

/// Sends back what comes, until the peer ends, or says nothing for a minute.
corewise::task<> echo(io::tcp_stream peer) {
  char bytes[4096];
  io::error_code why;
  for (;;) {
    const std::size_t n =
        co_await peer.async_read_some(asio::buffer(bytes), io::use_task.within(60s).into(why));
    if (why) co_return;
    co_await asio::async_write(peer, asio::buffer(bytes, n), io::use_task.into(why));
    if (why) co_return;
  }
}

/// Returns the answer to a word.
corewise::task<std::string> ask(io::service& service, std::uint16_t port, std::string word) {
  io::tcp_stream server(service.local());
  co_await server.async_connect({asio::ip::address_v4::loopback(), port}, io::use_task);
  co_await asio::async_write(server, asio::buffer(word), io::use_task);
  co_await asio::async_read(server, asio::buffer(word), io::use_task); // throws, if the server is gone
  co_return word;
}

} // namespace

int main() {
  corewise::engine engine;
  io::service service(engine);
  const asio::ip::tcp::endpoint anywhere(asio::ip::address_v4::loopback(), 0);
  io::listener listener = io::listen(service, anywhere, {.most_connections = 1000}, echo);
  std::printf("%s\n", engine.run(ask(service, listener.port(), "hello")).get().c_str());
  listener.stop(); // what waits in the kernel is accepted; then no more
  listener.wait_until_closed();
  std::printf("%s\n", engine.shutdown(5s, 10s).clean() ? "all ended" : "some cut off");
}
