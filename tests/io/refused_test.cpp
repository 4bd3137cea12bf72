// Sockets of an engine to which the kernel refuses what they need: an error says so, nothing hangs, and tasks go on.

#include "refused_call.hpp"
#include "sockets.hpp"

#include <corewise/io/connect.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// Returns the answer to a word, or nothing where there was an error.
task<std::string> ask(io::service& io, std::uint16_t port) {
  std::string word = "hello";
  try {
    io::tcp_stream peer(io.local());
    co_await peer.async_connect(on_loopback(port), io::use_task.within(2s));
    co_await asio::async_write(peer, asio::buffer(word), io::use_task.within(2s));
    co_await asio::async_read(peer, asio::buffer(word), io::use_task.within(2s));
  } catch (const io::system_error&) {
    word.clear();
  }
  co_return word;
}

/// Makes a service, and lets a client ask a server. `fails`: whether that cannot work. Returns a sum of powers of two, one
/// for each thing that went wrong.
int used(bool fails) {
  engine e(served_engine::profile_of(2));
  std::string answer;
  try {
    io::service io(e);
    io::listener server = io::listen(io, on_loopback(), {}, echo);
    answer = e.run(ask(io, server.port())).get();
    server.stop();
    server.wait_until_closed();
  } catch (const io::system_error&) {
    answer.clear();
  }
  const int seven = e.run([] { return 7; }).get();
  const bool clean = e.shutdown(10s).running.empty();
  return int{seven != 7} + 2 * int{!clean} + 4 * int{!answer.empty() && answer != "hello"} +
         8 * int{fails && !answer.empty()};
}

} // namespace

TEST_CASE("io: what the kernel refuses to a service, a listener or a client is an error, and nothing hangs") {
  struct call {
    std::string name;
    long number;
    bool fails; // without it
  };
  const call calls[] = {{"epoll_create1", SYS_epoll_create1, true},
                        {"eventfd2", SYS_eventfd2, false}, // Asio takes a pipe
                        {"timerfd_create", SYS_timerfd_create, true},
                        {"timerfd_settime", SYS_timerfd_settime, true},
                        {"epoll_ctl", SYS_epoll_ctl, true},
                        {"socket", SYS_socket, true},
                        {"bind", SYS_bind, true},
                        {"listen", SYS_listen, true},
                        {"accept4", SYS_accept4, true},
                        {"connect", SYS_connect, true},
                        {"setsockopt", SYS_setsockopt, false},
                        {"getsockname", SYS_getsockname, false}};
  for (const call& c : calls) {
    CAPTURE(c.name);
    CHECK(tests::wrong_without(c.number, {}, [&] { return used(c.fails); }) == 0);
  }
}
