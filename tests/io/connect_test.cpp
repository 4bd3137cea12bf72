#include "sockets.hpp"

#include <corewise/io/connect.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <utility>

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
