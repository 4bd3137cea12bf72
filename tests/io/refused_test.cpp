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
    co_await peer.async_connect(on_loopback(port), io::use_task.within(5s));
    co_await asio::async_write(peer, asio::buffer(word), io::use_task.within(5s));
    co_await asio::async_read(peer, asio::buffer(word), io::use_task.within(5s));
  } catch (const io::system_error&) {
    word.clear();
  }
  co_return word;
}

/// Makes a service, and lets a client ask a server. Returns a sum of powers of two, one for each thing that went wrong.
int used() {
  engine e(served_engine::profile_of(2));
  bool began = false;
  std::string answer;
  try {
    io::service io(e);
    began = true;
    const io::listener server = io::listen(io, on_loopback(), {}, echo);
    answer = e.run(ask(io, server.port())).get();
  } catch (const io::system_error&) {
  }
  const int seven = e.run([] { return 7; }).get();
  const bool clean = e.shutdown(10s).running.empty();
  return int{seven != 7} + 2 * int{!clean} + 4 * int{answer != "" && answer != "hello"} +
         8 * int{!began && !answer.empty()};
}

} // namespace

TEST_CASE("io: what the kernel refuses to a service, a listener or a client is an error, and nothing hangs") {
  struct call {
    std::string name;
    long number;
  };
  for (const call& c :
       {call{"epoll_create1", SYS_epoll_create1}, call{"eventfd2", SYS_eventfd2},
        call{"timerfd_create", SYS_timerfd_create}, call{"timerfd_settime", SYS_timerfd_settime},
        call{"epoll_ctl", SYS_epoll_ctl}, call{"socket", SYS_socket}, call{"bind", SYS_bind},
        call{"listen", SYS_listen}, call{"connect", SYS_connect}, call{"setsockopt", SYS_setsockopt},
        call{"getsockname", SYS_getsockname}}) {
    CAPTURE(c.name);
    CHECK(tests::wrong_without(c.number, {}, &used) == 0);
  }
}
