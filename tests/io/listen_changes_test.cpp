#include "sockets.hpp"

#include <corewise/engine/metrics.hpp>
#include <corewise/engine/run_blocking.hpp>

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>
#include <vector>

// A server that is busy while its engine changes, or is full: nothing that was accepted is lost.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

std::atomic<std::uint32_t> blocked{0};
std::atomic<std::uint32_t> most_blocked{0};

void block() {
  const std::uint32_t now = blocked.fetch_add(1) + 1;
  for (std::uint32_t most = most_blocked.load();
       most < now && !most_blocked.compare_exchange_weak(most, now);) {
  }
  std::this_thread::sleep_for(2ms);
  blocked.fetch_sub(1);
}

/// Answers each byte; for a 'b' it blocks for a while first.
task<> serve(io::tcp_stream peer) {
  char byte = 0;
  for (;;) {
    io::error_code why;
    co_await peer.async_read_some(asio::buffer(&byte, 1), io::use_task.into(why));
    if (why) co_return;
    if (byte == 'b') co_await run_blocking(block);
    co_await asio::async_write(peer, asio::buffer(&byte, 1), io::use_task.into(why));
    if (why) co_return;
  }
}

/// Asks for some answers in a connection of its own. Returns whether all came.
bool is_served(std::uint16_t port, std::string_view asked) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const tcp::endpoint to = on_loopback(port);
  const timeval patience{20, 0};
  bool all = ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
             ::connect(fd, to.data(), static_cast<socklen_t>(to.size())) == 0;
  for (const char byte : asked) {
    char answer = 0;
    all = all && ::send(fd, &byte, 1, MSG_NOSIGNAL) == 1 && ::recv(fd, &answer, 1, 0) == 1 && answer == byte;
  }
  ::close(fd);
  return all;
}

/// Serves clients whose handlers block while the profile changes a hundred times a second.
void change_under_load(std::uint32_t spares) {
  CAPTURE(spares);
  blocked = most_blocked = 0;
  profile p = two_packages();
  p.workers.per_group.reset();
  p.blocking.spares_max = spares;
  engine e(p);
  io::service io(e);
  const io::listener server = io::listen(io, on_loopback(), {}, serve);

  std::atomic<bool> stops{false};
  std::atomic<std::uint64_t> served{0}, lost{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i)
    clients.emplace_back([&, i] {
      while (!stops.load()) ++(is_served(server.port(), i % 2 == 0 ? "xxxxxxxx" : "xbx") ? served : lost);
    });
  const auto begun = std::chrono::steady_clock::now();
  const auto enough = [&](std::uint32_t rounds) { // on a busy machine it takes longer
    return rounds >= 150 && served > 100 && most_blocked > spares;
  };
  for (std::uint32_t round = 0; !enough(round); ++round) {
    p.workers.total = round % 20 < 10 ? 4 : 1; // a group has none left for a tenth of a second
    p.injection.interval.max = round % 2 == 0 ? 255 : 63;
    REQUIRE(e.apply(p).applied());
    std::this_thread::sleep_until(begun + round * 10ms);
  }
  stops = true;
  for (std::thread& client : clients) client.join();
  CAPTURE(served.load());
  CHECK(lost == 0);
  CHECK(served > 100);
  CHECK(e.metrics().reloads >= 150);
  CHECK(most_blocked > spares); // a call in excess keeps its worker
  CHECK(within(5s, [&] { return server.counts().open == 0; }));
  CHECK(server.counts().accepted == served);
  CHECK(server.counts().refused == 0);
}

} // namespace

TEST_CASE("listen: nothing accepted is lost while profiles change, workers retire and come back, and spares "
          "run out") {
  change_under_load(1);
}

TEST_CASE("listen: nothing accepted is lost while profiles change, workers retire and come back, and there "
          "are no spares") {
  change_under_load(0);
}

TEST_CASE("listen: what the kernel gives to a group whose workers have retired goes to one that has some") {
  profile p = two_packages();
  p.workers.per_group.reset();
  p.workers.total = 2;
  engine e(p);
  io::service io(e);
  const io::listener server =
      io::listen(io, on_loopback(), {}, echo); // its kernel knows no CPU of this machine
  p.workers.total = 1;
  REQUIRE(e.apply(p).applied());
  std::vector<int> clients;
  for (int i = 0; i < 50; ++i) clients.push_back(connect_plainly(server.port()));
  CHECK(within(10s, [&] { return server.counts().open == 50; }));
  CHECK(server.counts(group_id{1}).open == 0);
  for (const int fd : clients) {
    CHECK(answers(fd));
    ::close(fd);
  }
}

TEST_CASE("listen: connections wait until a full engine has room, or are refused") {
  using excess = io::listen_options::excess;
  for (const excess then : {excess::wait, excess::refuse}) {
    profile p = served_engine::profile_of(2);
    p.limits.in_flight = 2;
    engine e(p);
    io::service io(e);
    const io::listener server = io::listen(io, on_loopback(), {.on_excess = then}, echo);
    std::vector<int> clients;
    for (int i = 0; i < 6; ++i) {
      clients.push_back(connect_plainly(server.port()));
      if (i < 2) REQUIRE(within(5s, [&] { return server.counts().accepted == clients.size(); }));
    }
    if (then == excess::refuse) {
      char byte = 0;
      for (std::size_t i = 2; i < clients.size(); ++i) CHECK(::recv(clients[i], &byte, 1, 0) <= 0);
      CHECK(within(5s, [&] { return server.counts().refused == 4; }));
      CHECK(answers(clients[0]));
    } else {
      REQUIRE(within(5s, [&] { return server.counts().open > 2; }));
      const std::uint64_t before = e.metrics().rejected;
      std::this_thread::sleep_for(50ms);
      CHECK(e.metrics().rejected <= before + e.groups().size()); // once for each, and not at each look
      CHECK(server.counts().accepted == 2);
      CHECK(server.counts().open <= 2 + e.groups().size()); // each group holds one, the kernel the others
      for (const int fd : clients) ::shutdown(fd, SHUT_WR);
      CHECK(within(10s, [&] { return server.counts().accepted == clients.size(); }));
      CHECK(server.counts().refused == 0);
    }
    for (const int fd : clients) ::close(fd);
  }
}
