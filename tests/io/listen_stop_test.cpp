#include "child_process.hpp"
#include "sockets.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <csignal>
#include <new>
#include <string>
#include <thread>
#include <vector>

// What a listener does with what waits at a stop, with sockets of others, and in a process fork; and how it counts.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// Returns a socket that listens, as systemd hands it over.
int listening_socket() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const tcp::endpoint at = on_loopback();
  REQUIRE(::bind(fd, at.data(), static_cast<socklen_t>(at.size())) == 0);
  REQUIRE(::listen(fd, 64) == 0);
  return fd;
}

} // namespace

TEST_CASE("listen: connections of several adopted sockets go to the lightest group") {
  engine e(two_packages());
  io::service io(e);
  const int both[] = {listening_socket(), listening_socket()}; // two addresses, as ListenStream=80 and 443
  const io::listener server = io::listen(io, on_loopback(), {.adopted = {both[0], both[1]}}, echo);
  std::vector<int> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(connect_plainly(server.port())); // the first one's
  CHECK(within(10s, [&] { return server.counts().open == 20; }));
  CHECK(server.counts(group_id{0}).open == 10);
  CHECK(server.counts(group_id{1}).open == 10);
  for (const int fd : clients) ::close(fd);
}

TEST_CASE("listen: a stop accepts what waits also where the backlog is the system's, or that of others") {
  enum class queue { negative, largest, adopted };
  for (const queue of : {queue::negative, queue::largest, queue::adopted}) {
    CAPTURE(static_cast<int>(of));
    served_engine on(1);
    io::listen_options how{.backlog = of == queue::largest ? INT_MAX : -1};
    if (of == queue::adopted) how = {.backlog = 0, .adopted = {listening_socket()}};
    std::atomic<bool> accepts{false};
    auto busy = on.engine.run([&] {
      while (!accepts.load()) std::this_thread::sleep_for(1ms);
    });
    io::listener server = io::listen(on.io, on_loopback(), how, echo);
    std::vector<int> clients;
    for (int i = 0; i < 50; ++i) clients.push_back(connect_plainly(server.port()));
    server.stop();
    accepts = true;
    busy.get();
    server.wait_until_closed();
    CHECK(within(5s, [&] { return server.counts().accepted == 50; }));
    for (const int fd : clients) ::close(fd);
  }
}

TEST_CASE("listen: a connection is counted once, and what a handler throws is its own") {
  enum class thrown { no_memory, system, nothing };
  for (const thrown what : {thrown::no_memory, thrown::system, thrown::nothing}) {
    CAPTURE(static_cast<int>(what));
    profile p = served_engine::profile_of(1);
    p.on_exception = exception_action::report;
    engine e(p);
    io::service io(e);
    const io::listener server = io::listen(io, on_loopback(), {}, [&](io::tcp_stream peer) -> task<> {
      if (what == thrown::no_memory) throw std::bad_alloc();
      if (what == thrown::system) throw io::system_error(asio::error::access_denied);
      return echo(std::move(peer));
    });
    const int client = connect_plainly(server.port());
    CHECK(within(5s, [&] { return server.counts().accepted + server.counts().refused != 0; }));
    ::close(client);
    CHECK(within(5s, [&] { return server.counts().open == 0; }));
    const bool refused = what == thrown::no_memory;
    CHECK(server.counts().accepted == (refused ? 0 : 1));
    CHECK(server.counts().refused == (refused ? 1 : 0));
    CHECK(refused == std::ranges::any_of(e.warnings(), [](const std::string& w) {
            return w.find("connections are closed") != std::string::npos;
          }));
  }
}

TEST_CASE("listen: in the child of a process fork a stop closes the child's sockets, and no other thing") {
  served_engine on(2);
  io::listener server = io::listen(on.io, on_loopback(), {}, echo);
  const std::uint16_t port = server.port();
  const tests::signal_pipe closed;
  const tests::signal_pipe over;
  const pid_t child = tests::child_that([&] {
    ::alarm(60);
    server.stop();
    const int next = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0); // it takes a number that is free now
    server.stop();
    server.wait_until_closed();
    const bool kept = ::fcntl(next, F_GETFD) >= 0;
    closed.tell();
    over.wait();
    std::_Exit(kept ? 0 : 1);
  });
  closed.wait();
  const int client = connect_plainly(port);
  CHECK(answers(client)); // the parent's goes on
  ::close(client);
  server.stop();
  server.wait_until_closed();
  CHECK_NOTHROW(server = io::listen(on.io, on_loopback(port), {}, echo));
  over.tell();
  CHECK(tests::exit_status(child) == 0);
}
