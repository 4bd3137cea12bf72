#include "sockets.hpp"
#include "within.hpp"

#include <corewise/io/connect.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;

TEST_CASE("connect: the first endpoint that answers, or the last error") {
  served_engine on(2);
  const io::listener server = io::listen(on.io, on_loopback(), {}, echo);
  const io::tcp_stream peer =
      on.engine.run(io::connect(on.io, {on_loopback(1), on_loopback(server.port())}, 1s)).get();
  CHECK(peer.is_open());
  CHECK_THROWS_AS(on.engine.run(io::connect(on.io, {on_loopback(1)}, 1s)).get(), io::system_error);
  CHECK_THROWS_AS(on.engine.run(io::connect(on.io, {}, 1s)).get(), io::system_error);
}

TEST_CASE("connect: sockets that were accepted or connected are closed on exec, and do not block") {
  served_engine on(2);
  const auto flags_of = [](io::tcp_stream& s) {
    CHECK((::fcntl(s.native_handle(), F_GETFD) & FD_CLOEXEC) != 0);
    CHECK((::fcntl(s.native_handle(), F_GETFL) & O_NONBLOCK) != 0);
  };
  std::atomic<int> seen{0};
  const io::listener server = io::listen(on.io, on_loopback(), {}, [&](io::tcp_stream peer) -> task<> {
    flags_of(peer);
    ++seen;
    co_return;
  });
  io::tcp_stream peer = on.engine.run(io::connect(on.io, {on_loopback(server.port())}, 5s)).get();
  flags_of(peer);
  CHECK(within(5s, [&] { return seen == 1; }));
}

TEST_CASE("connect: a stop ends it, also between endpoints and in a pool") {
  served_engine on(2);
  asio::io_context elsewhere;
  asio::basic_socket_acceptor<asio::ip::tcp> full(elsewhere, on_loopback());
  full.listen(0);
  asio::ip::tcp::socket first(elsewhere); // it takes the only place, so the kernel answers no other
  first.connect(full.local_endpoint());
  const io::listener server = io::listen(on.io, on_loopback(), {}, echo);
  io::connection_pool pool(on.io, full.local_endpoint());
  const auto ends_aborted = [&](auto begins) {
    std::stop_source stop;
    auto running = on.engine.run([&]() -> task<bool> {
      try {
        co_await begins(stop.get_token());
      } catch (const io::system_error& error) {
        co_return error.code() == asio::error::operation_aborted;
      }
      co_return false;
    });
    CHECK(within(5s, [&] {
      const auto waits = on.engine.dump().socket_waits;
      return std::ranges::count(waits, wait_kind::connect, &socket_wait::kind) == 1;
    }));
    stop.request_stop();
    CHECK(running.wait_for(5s));
    CHECK(running.get());
  };
  ends_aborted([&](std::stop_token stop) {
    std::vector<asio::ip::tcp::endpoint> peers{full.local_endpoint(), on_loopback(server.port())};
    return io::connect(on.io, std::move(peers), 1min, std::move(stop)); // the second one would answer
  });
  ends_aborted([&](std::stop_token stop) { return pool.take(1min, std::move(stop)); });

  std::stop_source stopped;
  stopped.request_stop();
  try {
    on.engine.run(io::connect(on.io, {on_loopback(server.port())}, 1s, stopped.get_token())).get();
    FAIL("it has connected");
  } catch (const io::system_error& error) {
    CHECK(error.code() == asio::error::operation_aborted);
  }
}

TEST_CASE("connection_pool: a connection is used again, unless the peer has closed it") {
  served_engine on(2);
  io::listener server = io::listen(on.io, on_loopback(), {}, echo);
  io::connection_pool pool(on.io, on_loopback(server.port()), 2);
  on.engine
      .run([&]() -> task<> {
        for (int i = 0; i < 10; ++i) {
          io::tcp_stream c = co_await pool.take(1s);
          char byte = 'x';
          co_await asio::async_write(c, asio::buffer(&byte, 1), io::use_task);
          co_await asio::async_read(c, asio::buffer(&byte, 1), io::use_task);
          pool.give_back(std::move(c));
        }
        CHECK(pool.idle() == 1);
        io::tcp_stream a = co_await pool.take(1s);
        io::tcp_stream b = co_await pool.take(1s);
        io::tcp_stream c = co_await pool.take(1s);
        for (io::tcp_stream* s : {&a, &b, &c}) {
          s->shutdown(io::tcp_stream::shutdown_send); // the echo ends, and closes
          char byte = 0;
          io::error_code why;
          co_await s->async_read_some(asio::buffer(&byte, 1), io::use_task.into(why));
          CHECK(why == asio::error::eof);
          pool.give_back(std::move(*s));
        }
        CHECK(pool.idle() == 2);
        io::tcp_stream made = co_await pool.take(1s);
        CHECK(pool.idle() == 0);
        char byte = 'y';
        co_await asio::async_write(made, asio::buffer(&byte, 1), io::use_task);
        CHECK(co_await asio::async_read(made, asio::buffer(&byte, 1), io::use_task) == 1);
      })
      .get();
  CHECK(server.counts().accepted == 4);
}
