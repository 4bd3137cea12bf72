#include "sockets.hpp"

#ifdef COREWISE_STANDALONE_ASIO
#include <asio/experimental/as_tuple.hpp>
#else
#include <boost/asio/experimental/as_tuple.hpp>
#endif

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <stop_token>
#include <string>

// A stop at about the moment at which an operation completes by itself. It ends in one of the two ways, and what comes is
// its own or the next one's.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

constexpr int rounds = 400;

/// Sends, and returns whether all of it went.
bool sent(io::unix_stream& from, const std::string& text) {
  return ::send(from.native_handle(), text.data(), text.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(text.size());
}

/// Begins an operation; in half of the rounds it waits for its event when this returns.
template <class Operation> auto begun(served_engine& on, int round, const Operation& operation) {
  REQUIRE(comes_to_rest(on.io));
  auto running = on.engine.run(operation);
  if (round / 2 % 2 == 0) CHECK(within(30s, [&] { return on.io.operations() != 0; }));
  return running;
}

/// Returns all bytes that come: what `first` reads until a stop, and the rest up to the end. `by_stopped`: grows by one
/// where the first read has all.
template <class Read>
task<std::string> read_all(io::unix_stream& from, std::size_t size, const Read& first, int& by_stopped) {
  std::string all(size, ' ');
  io::error_code why;
  all.resize(co_await first(asio::buffer(all), why));
  if (why) CHECK(why == asio::error::operation_aborted);
  by_stopped += all.size() == size ? 1 : 0;
  for (why.clear(); !why;) {
    char bytes[16];
    const std::size_t n =
        co_await from.async_read_some(asio::buffer(bytes), io::use_task.within(30s).into(why));
    all.append(bytes, n);
  }
  CHECK(why == asio::error::eof);
  co_return all;
}

/// Has a task `read(stream, buffer, token)` a text, of which the last bytes come beside the stop; in half of the rounds `early`
/// bytes come before.
template <class Read> void stop_beside_bytes(const std::string& text, std::size_t early, const Read& read) {
  served_engine on(4);
  int by_stopped = 0;
  for (int round = 0; round < rounds; ++round) {
    auto ends = make_pair(on.io);
    std::stop_source stop;
    const auto first = [&](const asio::mutable_buffer& into, io::error_code& why) {
      return read(ends.first, into, io::use_task(stop.get_token()).into(why));
    };
    auto reading = begun(on, round, [&] { return read_all(ends.first, text.size(), first, by_stopped); });
    const std::size_t before = round % 4 < 2 ? early : 0;
    if (before != 0) REQUIRE(sent(ends.second, text.substr(0, before)));
    stop_beside(round, stop, [&] { REQUIRE(sent(ends.second, text.substr(before))); });
    ::shutdown(ends.second.native_handle(), SHUT_WR);
    CHECK(reading.get() == text);
  }
  MESSAGE(by_stopped, " of ", rounds, " reads had all bytes");
  CHECK(comes_to_rest(on.io));
}

} // namespace

TEST_CASE("use_task: a stop beside the bytes of a read loses none of them") {
  stop_beside_bytes("abcd", 0, [](io::unix_stream& from, const auto& into, const auto& token) {
    return from.async_read_some(into, token);
  });
}

TEST_CASE("use_task: a stop beside the bytes of a composed read loses none of them") {
  stop_beside_bytes("abcdefgh", 2, [](io::unix_stream& from, const auto& into, const auto& token) {
    return asio::async_read(from, into, token);
  });
}

TEST_CASE("use_task: a stop beside a connection leaves it to the accept, or to the next one") {
  served_engine on(4);
  tcp::acceptor::rebind_executor<io::executor>::other acceptor(on.io.local(), on_loopback());
  const std::uint16_t port = acceptor.local_endpoint().port();
  int by_stopped = 0;
  for (int round = 0; round < rounds; ++round) {
    std::stop_source stop;
    auto accepting = begun(on, round, [&]() -> task<char> {
      auto [why, peer] =
          co_await acceptor.async_accept(asio::experimental::as_tuple(io::use_task(stop.get_token())));
      by_stopped += why ? 0 : 1;
      if (why) {
        CHECK(why == asio::error::operation_aborted);
        peer = co_await acceptor.async_accept(io::use_task.within(30s)); // throws where it was lost
      }
      char byte = 0;
      co_await asio::async_read(peer, asio::buffer(&byte, 1), io::use_task.within(30s));
      co_return byte;
    });
    int client = -1;
    stop_beside(round, stop, [&] { client = connect_plainly(port); });
    const char of_round = static_cast<char>('a' + round % 26);
    REQUIRE(::send(client, &of_round, 1, MSG_NOSIGNAL) == 1);
    CHECK(accepting.get() == of_round);
    ::close(client);
  }
  MESSAGE(by_stopped, " of ", rounds, " accepts had the connection");
  CHECK(comes_to_rest(on.io));
}

TEST_CASE("use_task: a stop beside the time of a timer ends the wait, early or at that time") {
  using steady = std::chrono::steady_clock;
  served_engine on(4);
  int rang = 0;
  for (int round = 0; round < rounds; ++round) {
    std::stop_source stop;
    const auto moment = steady::now() + 300us;
    auto waiting = on.engine.run([&]() -> task<> {
      asio::basic_waitable_timer<steady, asio::wait_traits<steady>, io::executor> timer(on.io.local(),
                                                                                        moment);
      io::error_code why;
      co_await timer.async_wait(io::use_task(stop.get_token()).into(why));
      if (why)
        CHECK(why == asio::error::operation_aborted);
      else
        CHECK(steady::now() >= moment);
      rang += why ? 0 : 1;
    });
    const auto stopped_at = moment + std::chrono::microseconds(round - rounds / 4);
    while (steady::now() < stopped_at) {
    }
    stop.request_stop();
    waiting.get();
  }
  MESSAGE(rang, " of ", rounds, " timers rang");
  CHECK(comes_to_rest(on.io));
}
