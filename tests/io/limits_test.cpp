#include "sockets.hpp"

#include <corewise/engine/sleep.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// How long a stream waits for its peer at a time.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// Sends bytes one after another.
task<> send_slowly(io::unix_stream& to, int bytes, std::chrono::milliseconds pause) {
  for (int i = 0; i < bytes; ++i) {
    co_await sleep_for(pause);
    co_await to.async_write_some(asio::buffer("x", 1));
  }
}

} // namespace

TEST_CASE("limits: each wait of a read has its time, also within an operation of several") {
  served_engine on(2);
  auto ends = make_pair(on.io);
  ends.first.limit_waits(300ms, 0ms);
  std::string bytes(12, ' ');
  io::error_code why;
  auto sends = on.engine.run([&] { return send_slowly(ends.second, 12, 50ms); });
  on.engine
      .run([&]() -> task<> {
        const auto begun = std::chrono::steady_clock::now();
        co_await asio::async_read(ends.first, asio::buffer(bytes), io::use_task.into(why));
        CHECK(std::chrono::steady_clock::now() - begun > 400ms); // longer than one wait may be
      })
      .get();
  CHECK_FALSE(why);
  sends.get();
  const auto times_out = [&](auto operation) {
    on.engine
        .run([&]() -> task<> {
          const auto begun = std::chrono::steady_clock::now();
          co_await operation();
          CHECK(why == asio::error::timed_out);
          CHECK(std::chrono::steady_clock::now() - begun >= 295ms);
        })
        .get();
  };
  std::stop_source stop;
  times_out([&] { return ends.first.async_read_some(asio::buffer(bytes), io::use_task.into(why)); });
  times_out([&] { return asio::async_read(ends.first, asio::buffer(bytes), io::use_task.into(why)); });
  const auto until = io::use_task(stop.get_token()).into(why);
  times_out([&] { return ends.first.async_read_some(asio::buffer(bytes), until); });
  times_out([&] { return asio::async_read(ends.first, asio::buffer(bytes), until); });
  times_out([&] { // a time of its own counts alone
    return ends.first.async_read_some(asio::buffer(bytes), io::use_task.within(700ms).into(why));
  });
  on.engine
      .run([&]() -> task<> {
        stop.request_stop();
        co_await asio::async_read(ends.first, asio::buffer(bytes), until);
        CHECK(why == asio::error::operation_aborted);
        ends.first.limit_waits(0ms, 0ms); // none any more
        const auto begun = std::chrono::steady_clock::now();
        co_await ends.first.async_read_some(asio::buffer(bytes), io::use_task.within(400ms).into(why));
        CHECK(std::chrono::steady_clock::now() - begun >= 400ms);
      })
      .get();
  CHECK(comes_to_rest(on.io));
}

TEST_CASE("limits: a write to a peer that does not read ends in time, one to a slow peer goes on") {
  served_engine on(2);
  auto ends = make_pair(on.io);
  ends.first.limit_waits(0ms, 100ms);
  const std::string much(1'000'000, 'x');
  io::error_code why;
  std::size_t sent = 0;
  on.engine
      .run([&]() -> task<> {
        sent = co_await asio::async_write(ends.first, asio::buffer(much), io::use_task.into(why));
        CHECK(why == asio::error::timed_out);
        CHECK(sent > 0);
        CHECK(sent < much.size());
      })
      .get();
  ends.first.limit_waits(0ms, 700ms);
  auto reads = on.engine.run([&]() -> task<> {
    std::string some(100'000, ' ');
    for (std::size_t left = sent + much.size(); left != 0;) {
      co_await sleep_for(100ms);
      left -= co_await ends.second.async_read_some(asio::buffer(some), io::use_task);
    }
  });
  on.engine
      .run([&]() -> task<> {
        const auto begun = std::chrono::steady_clock::now();
        co_await asio::async_write(ends.first, asio::buffer(much), io::use_task.into(why));
        CHECK_FALSE(why);
        CHECK(std::chrono::steady_clock::now() - begun > 700ms);
      })
      .get();
  reads.get();
}

TEST_CASE("limits: a listener ends connections that are idle, and those that do not read") {
  served_engine on(2);
  constexpr int none = -1;
  std::atomic<int> of_read{none}, of_write{none};
  const auto handle = [&](io::tcp_stream peer) -> task<> {
    char byte = 0;
    const std::vector<char> much(20'000'000, 'x');
    io::error_code why;
    co_await peer.async_read_some(asio::buffer(&byte, 1), io::use_task.into(why));
    of_read = why.value();
    if (why) co_return;
    co_await asio::async_write(peer, asio::buffer(much), io::use_task.into(why));
    of_write = why.value();
  };
  const io::listener server = io::listen(on.io, on_loopback(), {.idle = 100ms, .write = 100ms}, handle);
  asio::io_context elsewhere;
  tcp::socket idle(elsewhere);
  idle.connect(on_loopback(server.port()));
  char byte = 'x';
  io::error_code why;
  asio::read(idle, asio::buffer(&byte, 1), why);
  CHECK(why == asio::error::eof);
  CHECK(of_read == asio::error::timed_out);
  tcp::socket mute(elsewhere);
  mute.connect(on_loopback(server.port()));
  asio::write(mute, asio::buffer(&byte, 1));
  CHECK(within(5s, [&] { return of_write != none; }));
  CHECK(of_read == 0);
  CHECK(of_write == asio::error::timed_out);
}

TEST_CASE("limits: a client that reads slowly, but steadily, is served") {
  served_engine on(2);
  constexpr int none = -1;
  std::atomic<int> of_write{none};
  const auto handle = [&](io::tcp_stream peer) -> task<> {
    const std::vector<char> much(20'000'000, 'x');
    io::error_code why;
    co_await asio::async_write(peer, asio::buffer(much), io::use_task.into(why));
    of_write = why.value();
  };
  const io::listener server = io::listen(on.io, on_loopback(), {.write = 1s}, handle);
  asio::io_context elsewhere;
  tcp::socket slow(elsewhere, tcp::v4());
  slow.set_option(asio::socket_base::receive_buffer_size(64 * 1024));
  slow.connect(on_loopback(server.port()));
  std::string some(20'000, ' ');
  const auto begun = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begun < 3s && of_write == none) {
    asio::read(slow, asio::buffer(some));
    std::this_thread::sleep_for(50ms); // 400 kB a second; a third of a send buffer takes longer than 1 s
  }
  CHECK(of_write == none);
  slow.close();
  CHECK(within(5s, [&] { return of_write != none; }));
  CHECK(of_write != asio::error::timed_out);
}

TEST_CASE("limits: a stream keeps them when it connects, and when it is moved") {
  served_engine on(2);
  const io::listener server = io::listen(on.io, on_loopback(), {}, echo);
  io::error_code why;
  on.engine
      .run([&]() -> task<> {
        io::tcp_stream client(on.io.local());
        client.limit_waits(20ms, 0ms);
        co_await client.async_connect(on_loopback(server.port()));
        io::tcp_stream moved = std::move(client);
        char byte = 0;
        co_await moved.async_read_some(asio::buffer(&byte, 1), io::use_task.into(why));
      })
      .get();
  CHECK(why == asio::error::timed_out);
}

TEST_CASE("limits: what comes at the moment at which a wait ends is read, then or later") {
  served_engine on(4);
  std::vector<std::pair<io::unix_stream, io::unix_stream>> pairs;
  for (int i = 0; i < 8; ++i) {
    pairs.push_back(make_pair(on.io));
    pairs.back().first.limit_waits(1ms, 1ms);
  }
  constexpr int bytes = 300;
  std::vector<future<void>> running;
  for (auto& [reader, writer] : pairs) {
    running.push_back(on.engine.run([&writer = writer] { return send_slowly(writer, bytes, 1ms); }));
    running.push_back(on.engine.run([&reader = reader]() -> task<> {
      char two[2];
      for (int read = 0; read < bytes;) {
        io::error_code why;
        read +=
            static_cast<int>(co_await asio::async_read(reader, asio::buffer(two), io::use_task.into(why)));
        CHECK((!why || why == asio::error::timed_out));
      }
    }));
  }
  for (future<void>& f : running) f.get();
  CHECK(comes_to_rest(on.io));
  CHECK(within(5s, [&] { return on.engine.metrics().in_flight() == 0; }));
}
