// The system gives an admin server no thread.

#include "admin_server.hpp"
#include "refused_thread.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <iterator>
#include <system_error>

using namespace corewise;
using namespace corewise::tests;

namespace {

auto descriptors() { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); }

} // namespace

TEST_CASE("admin without threads: a server does not begin, leaves nothing open, and another one begins") {
  engine e(small(1));
  e.run([] {}).get(); // the supervisor has begun
  admin::options o;
  o.control = socket_path();
  o.read_only = "127.0.0.1:0";
  const auto before = descriptors();
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  threads_before_refusal = 1;
  CHECK_THROWS_AS(admin::server(e, o), std::system_error);
  CHECK(threads_before_refusal == 0);
  CHECK(descriptors() == before);
  CHECK_FALSE(std::filesystem::exists(socket_path()));
  sigset_t now;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
  for (const int signal : {SIGINT, SIGTERM})
    CHECK(::sigismember(&now, signal) == ::sigismember(&mask, signal));
  const admin::server server(e, o);
  CHECK(is(ask(client(socket_path()), "GET /health/live", ""), 200));
}

TEST_CASE("admin without threads: a trace is answered with 503, and the next one is taken") {
  served at(small(1));
  at.e.run([] {}).get();
  threads_before_refusal = 1;
  const std::string refused = at.control("GET /trace?seconds=1");
  CHECK(threads_before_refusal == 0);
  CHECK(is(refused, 503));
  CHECK(has(refused, "no thread for the trace"));
  CHECK(is(at.control("GET /trace?seconds=1"), 200));
}
