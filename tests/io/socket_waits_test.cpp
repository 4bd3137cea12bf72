#include "sockets.hpp"

#include <corewise/engine/dump.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <cstddef>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

// What a dump says of the coroutines that wait to read or write sockets.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

using steady_timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                                asio::wait_traits<std::chrono::steady_clock>, io::executor>;

/// Reads a byte, and then waits for a timer: a composed operation whose later part waits for no socket.
struct read_and_rest {
  io::unix_stream& from;
  steady_timer& timer;
  char& byte;
  int part = 0;

  template <class Self> void operator()(Self& self, io::error_code why = {}, std::size_t /*bytes*/ = 0) {
    switch (part++) {
    case 0: return from.async_read_some(asio::buffer(&byte, 1), std::move(self));
    case 1: return timer.async_wait(std::move(self));
    default: self.complete(why);
    }
  }
};

} // namespace

TEST_CASE("socket waits: a dump names the sockets for which coroutines wait, and their peers") {
  served_engine on(2);
  const io::listener server = io::listen(on.io, on_loopback(), {}, echo);
  const auto waits = [&] { return on.engine.dump().socket_waits; };
  CHECK(waits().empty());

  asio::io_context elsewhere;
  tcp::socket client(elsewhere);
  client.connect(on_loopback(server.port()));
  const std::string name = "127.0.0.1:" + std::to_string(client.local_endpoint().port());
  for (int round = 0; round < 3; ++round) {
    std::vector<socket_wait> seen;
    REQUIRE(within(5s, [&] { return (seen = waits()).size() == 1; }));
    CHECK(seen[0].kind == wait_kind::read);
    CHECK(seen[0].peer == name);
    CHECK(seen[0].descriptor > 2);
    CHECK(seen[0].time < 5s);
    char byte = 'x';
    asio::write(client, asio::buffer(&byte, 1));
    asio::read(client, asio::buffer(&byte, 1));
  }
  engine_dump inside;
  REQUIRE(within(5s, [&] {
    inside = on.engine.dump();
    return inside.socket_waits.size() == 1 && inside.socket_waits[0].time >= 100ms;
  }));
  const std::string line =
      "io: read of descriptor " + std::to_string(inside.socket_waits[0].descriptor) + " (" + name + ") for ";
  CHECK(inside.to_text().find(line) != std::string::npos);
  const auto json = nlohmann::json::parse(inside.to_json())["socket_waits"];
  REQUIRE(json.size() == 1);
  CHECK(json[0]["peer"] == name);
  CHECK(json[0]["time_us"] >= 100'000);
  client.close();
  CHECK(within(5s, [&] { return waits().empty(); }));

  auto ends = make_pair(on.io);
  const std::string much(3'000'000, 'x');
  std::vector<future<void>> running;
  running.push_back(on.engine.run([&]() -> task<> {
    io::error_code why;
    co_await asio::async_write(ends.first, asio::buffer(much), io::use_task.into(why));
  }));
  std::vector<socket_wait> seen;
  REQUIRE(within(5s, [&] { return (seen = waits()).size() == 1; }));
  CHECK(seen[0].kind == wait_kind::write);
  CHECK(seen[0].peer.empty());
  ends.second.close();
  running.back().get();
  CHECK(waits().empty());
}

TEST_CASE("socket waits: a connection that is not answered is named by its peer, other sockets by what is "
          "awaited") {
  served_engine on(2);
  asio::io_context elsewhere;
  asio::basic_socket_acceptor<tcp> full(elsewhere, on_loopback());
  full.listen(0);
  tcp::socket first(elsewhere); // it takes the only place, so the kernel answers no other
  first.connect(full.local_endpoint());
  const std::string name = "127.0.0.1:" + std::to_string(full.local_endpoint().port());

  asio::basic_socket_acceptor<tcp, io::executor> acceptor(on.io.local(), on_loopback());
  asio::basic_datagram_socket<asio::ip::udp, io::executor> packets(on.io.local(),
                                                                   {asio::ip::address_v4::loopback(), 0});
  std::stop_source stop;
  const auto until = [&](io::error_code& why) { return io::use_task(stop.get_token()).into(why); };
  std::vector<future<void>> running;
  running.push_back(on.engine.run([&]() -> task<> {
    io::tcp_stream client(on.io.local());
    io::error_code why;
    co_await client.async_connect(full.local_endpoint(), until(why));
    CHECK(why == asio::error::operation_aborted);
  }));
  running.push_back(on.engine.run([&]() -> task<> {
    io::error_code why;
    co_await acceptor.async_accept(until(why));
    CHECK(why == asio::error::operation_aborted);
  }));
  running.push_back(on.engine.run([&]() -> task<> {
    char byte = 0;
    asio::ip::udp::endpoint from;
    io::error_code why;
    co_await packets.async_receive_from(asio::buffer(&byte, 1), from, until(why));
    CHECK(why == asio::error::operation_aborted);
  }));

  engine_dump seen;
  REQUIRE(within(5s, [&] {
    seen = on.engine.dump();
    return seen.suspended.size() == 3 && seen.socket_waits.size() == 1;
  }));
  CHECK(seen.suspended[0].kind == wait_kind::read);
  CHECK(seen.suspended[1].kind == wait_kind::accept);
  CHECK(seen.suspended[2].kind == wait_kind::connect);
  CHECK(seen.socket_waits[0].kind == wait_kind::connect);
  CHECK(seen.socket_waits[0].peer == name);
  stop.request_stop();
  for (future<void>& f : running) f.get();
  CHECK(on.engine.dump().socket_waits.empty());
}

TEST_CASE("socket waits: of an operation that has read, and waits for something else, a dump says nothing") {
  served_engine on(2);
  auto ends = make_pair(on.io);
  steady_timer timer(on.io.local());
  timer.expires_after(1h);
  char byte = 0;
  std::stop_source stop;
  io::error_code why;
  auto running = on.engine.run([&]() -> task<> {
    auto until = io::use_task(stop.get_token()).into(why);
    co_await asio::async_compose<io::limited_use_task, void(io::error_code)>(
        read_and_rest{ends.first, timer, byte}, until, ends.first);
  });
  const auto waits = [&] { return on.engine.dump().socket_waits.size(); };
  REQUIRE(within(5s, [&] { return waits() == 1; }));
  asio::write(ends.second, asio::buffer("x", 1));
  CHECK(within(5s, [&] { return waits() == 0; }));
  stop.request_stop();
  running.get();
  CHECK(byte == 'x');
  CHECK(why == asio::error::operation_aborted);
}

TEST_CASE("socket waits: of many a dump has the longest of each group, while they come and go") {
  served_engine on(4);
  const io::listener server = io::listen(on.io, on_loopback(), {}, echo);
  std::atomic<bool> over{false};
  std::thread looks([&] {
    while (!over)
      for (const socket_wait& w : on.engine.dump().socket_waits) CHECK(w.descriptor > 2);
  });
  asio::io_context elsewhere;
  const auto connected = [&] {
    tcp::socket client(elsewhere);
    client.connect(on_loopback(server.port()));
    return client;
  };
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i)
    clients.emplace_back([&] {
      tcp::socket client = connected();
      char byte = 'x';
      for (int round = 0; round < 500; ++round) {
        asio::write(client, asio::buffer(&byte, 1));
        asio::read(client, asio::buffer(&byte, 1));
      }
    });
  for (std::thread& t : clients) t.join();
  over = true;
  looks.join();

  REQUIRE(within(5s, [&] { return server.counts().open == 0; }));
  const std::size_t groups = on.engine.groups().size();
  const std::size_t many = groups * engine_dump::most_socket_waits + 8;
  std::vector<tcp::socket> idle;
  for (std::size_t i = 0; i < many; ++i) idle.push_back(connected());
  REQUIRE(within(5s, [&] { return server.counts().open == many; }));
  if (groups == 1)
    CHECK(within(5s, [&] { return on.engine.dump().socket_waits.size() == engine_dump::most_socket_waits; }));
  const std::vector<socket_wait> waits = on.engine.dump().socket_waits;
  for (std::size_t i = 1; i < waits.size(); ++i)
    CHECK((waits[i].group != waits[i - 1].group || waits[i].time <= waits[i - 1].time));
}
