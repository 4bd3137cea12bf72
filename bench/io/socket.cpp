#include <corewise/engine/latch.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/io/connect.hpp>
#include <corewise/io/listen.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

// A server and its clients in one process, each on an engine of one worker: clients send a request, wait for the whole
// response and send the next one. As `io_socket_st` of a public suite does (docs/missed_targets.md).
//
//     io_socket [CONNECTIONS [REQUESTS]]

using namespace corewise;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
namespace asio = corewise::io::asio;

namespace {

constexpr std::string_view request = "HEAD / HTTP/1.1\r\nHost: host:port\r\nConnection: close\r\n\r\n";
constexpr std::string_view response =
    "HTTP/1.1 200 OK\nContent-Length: 12\nContent-Type: text/plain; charset=utf-8\n\nHello World!";

profile one_worker() {
  profile p;
  p.workers.total = 1;
  return p;
}

task<> serve(io::tcp_stream peer, std::atomic<std::size_t>& served, latch& ended) {
  char bytes[4096];
  io::error_code why;
  std::size_t n = 0;
  for (;; ++n) {
    co_await peer.async_read_some(asio::buffer(bytes), io::use_task.into(why));
    if (why) break;
    co_await asio::async_write(peer, asio::buffer(response), io::use_task.into(why));
    if (why) break;
  }
  served += n;
  ended.count_down();
}

task<> ask(io::service& service, std::vector<asio::ip::tcp::endpoint> server, std::size_t requests) {
  io::tcp_stream s = co_await io::connect(service, std::move(server), 10s);
  char bytes[4096];
  for (std::size_t i = 0; i < requests; ++i) {
    co_await asio::async_write(s, asio::buffer(request), io::use_task);
    co_await s.async_read_some(asio::buffer(bytes), io::use_task);
  }
}

} // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, std::size_t otherwise) {
    return argc > i ? static_cast<std::size_t>(std::max(std::atoll(argv[i]), 0LL)) : otherwise;
  };
  const std::size_t connections = number(1, 20);
  const std::size_t requests = number(2, 100'000);
  if (argc > 3 || connections == 0 || requests == 0) {
    std::fputs("usage: io_socket [CONNECTIONS [REQUESTS]]\n", stderr);
    return 2;
  }

  std::atomic<std::size_t> served = 0;
  latch served_all(static_cast<std::uint32_t>(connections));
  engine servers(one_worker());
  engine clients(one_worker());
  io::service serving(servers);
  io::service asking(clients);
  const auto handle = [&](io::tcp_stream peer) { return serve(std::move(peer), served, served_all); };
  const io::listener listener =
      io::listen(serving, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0), {}, handle);
  const std::vector<asio::ip::tcp::endpoint> server{{asio::ip::address_v4::loopback(), listener.port()}};

  const auto all = [&]() -> task<> {
    std::vector<task<>> asked;
    for (std::size_t i = 0; i < connections; ++i)
      asked.push_back(ask(asking, server, requests / connections + (i < requests % connections)));
    co_await when_all(std::move(asked));
    co_await served_all.wait();
  };
  const auto before = steady::now();
  sync_wait(clients, all());
  const double seconds = std::chrono::duration<double>(steady::now() - before).count();
  if (served != requests) {
    std::fprintf(stderr, "io_socket: served %zu of %zu requests\n", served.load(), requests);
    return EXIT_FAILURE;
  }
  std::printf("{\"ns_per_request\": %.1f}\n", seconds * 1e9 / static_cast<double>(requests));
}
