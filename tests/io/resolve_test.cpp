#include "refused_call.hpp"
#include "sockets.hpp"
#include "within.hpp"

#include <corewise/io/resolve.hpp>

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <stop_token>
#include <string>
#include <thread>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// While it is set, the system's call does not return.
std::latch* nameserver_answers = nullptr;
std::atomic<int> hanging_calls{0};

/// Gives the process a network of its own, whose only address is one of IPv4. Returns false where that is not allowed.
bool have_ipv4_alone() {
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  ifreq loopback{};
  std::strcpy(loopback.ifr_name, "lo");
  auto& address = reinterpret_cast<sockaddr_in&>(loopback.ifr_addr);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(0x0a000001); // 10.0.0.1
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  return fd >= 0 && ::ioctl(fd, SIOCSIFADDR, &loopback) == 0;
}

bool resolves(engine& e, const std::string& host, const asio::ip::address& expected) {
  try {
    const auto found = e.run(io::resolve(host, "80")).get();
    return !found.empty() && found.front() == tcp::endpoint(expected, 80);
  } catch (const io::system_error&) {
    return false;
  }
}

} // namespace

/// Stands in for the system's.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* wish, addrinfo** found) {
  if (nameserver_answers != nullptr) {
    ++hanging_calls;
    nameserver_answers->wait();
  }
  static const auto systems = reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return systems(host, service, wish, found);
}

TEST_CASE("resolve: a literal address, a name, and what is neither") {
  served_engine on(1);
  CHECK(resolves(on.engine, "127.0.0.1", asio::ip::address_v4::loopback()));
  CHECK(resolves(on.engine, "::1", asio::ip::address_v6::loopback()));
  CHECK_FALSE(on.engine.run(io::resolve("localhost", "80")).get().empty());
  CHECK_THROWS_AS(on.engine.run(io::resolve("no name", "80")).get(), io::system_error);
  CHECK_THROWS_AS(on.engine.run(io::resolve("127.0.0.1", "no service")).get(), io::system_error);
}

TEST_CASE("resolve: a number that no port has is an error, not another port") {
  served_engine on(1);
  const auto port_of = [&](const char* number) {
    return on.engine.run(io::resolve("127.0.0.1", number)).get().front().port();
  };
  CHECK(port_of("65535") == 65535);
  for (const char* number : {"65536", "99999", "4294967376", "99999999999999999999", "-4294967216"})
    CHECK_THROWS_AS(port_of(number), io::system_error);
}

TEST_CASE("resolve: an address of IPv6 on a host that has only some of IPv4") {
  const int answer = tests::exit_status(tests::child_that([] {
    ::alarm(60);
    if (!have_ipv4_alone()) std::_Exit(tests::cannot_tell);
    served_engine on(1);
    std::_Exit(resolves(on.engine, "::1", asio::ip::address_v6::loopback()) ? 0 : 1);
  }));
  if (answer == tests::cannot_tell)
    MESSAGE("skipped: the process may have no network of its own");
  else
    CHECK(answer == 0);
}

TEST_CASE("resolve: a stop ends the wait for a nameserver that does not answer, with a stop that does not "
          "come it is found") {
  std::latch answers(1);
  std::stop_source stop;
  served_engine on(1);
  CHECK_FALSE(on.engine.run(io::resolve("127.0.0.1", "80", stop.get_token())).get().empty());
  CHECK_THROWS_AS(on.engine.run(io::resolve("127.0.0.1", "no service", stop.get_token())).get(),
                  io::system_error);

  nameserver_answers = &answers;
  future<std::vector<tcp::endpoint>> found = on.engine.run(io::resolve("127.0.0.1", "80", stop.get_token()));
  CHECK(within(5s, [] { return hanging_calls.load() == 1; }));
  CHECK_FALSE(found.wait_for(20ms));
  stop.request_stop();
  io::error_code why;
  try {
    static_cast<void>(found.get());
  } catch (const io::system_error& e) {
    why = e.code();
  }
  CHECK(why == asio::error::operation_aborted);
  CHECK_THROWS_AS(on.engine.run(io::resolve("127.0.0.1", "80", stop.get_token())).get(), io::system_error);
  CHECK(hanging_calls.load() == 1); // nothing is looked up after a stop
  answers.count_down();
  on.engine.drain();
  nameserver_answers = nullptr;
}

TEST_CASE("resolve: with a token the call is a task of its own, which an engine that is full or shuts down "
          "refuses") {
  std::stop_source stop;
  const auto refusal = [&](engine& e, const auto& meanwhile) {
    io::error_code why;
    auto asks = [&]() -> task<> {
      meanwhile();
      try {
        co_await io::resolve("127.0.0.1", "80", stop.get_token());
      } catch (const io::system_error& refused) {
        why = refused.code();
      }
    };
    e.run(asks()).get();
    return why;
  };
  profile p = served_engine::profile_of(1);
  p.limits.in_flight = 1; // the one that asks
  engine full(p);
  CHECK(refusal(full, [] {}) == asio::error::no_buffer_space);
  served_engine on(1);
  std::thread ends;
  CHECK(refusal(on.engine, [&] {
          ends = std::thread([&] { static_cast<void>(on.engine.shutdown(5s, 5s)); });
          while (!on.engine.stop_token().stop_requested()) std::this_thread::sleep_for(1ms);
        }) == asio::error::operation_aborted);
  ends.join();
}
