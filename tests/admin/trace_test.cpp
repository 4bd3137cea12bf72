#include "admin_server.hpp"
#include "trace_job.hpp"
#include "within.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

TEST_CASE("admin: a trace is taken while others are answered, one at a time") {
  served at(small(2));
  std::jthread busy([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) at.e.run([] {}, {.name = "<script>"}).get();
  });
  std::string trace;
  std::atomic<bool> ended{false};
  std::jthread asks([&] {
    trace = at.control("GET /trace?seconds=1&format=json");
    ended = true;
  });
  CHECK(within(5s, [&] { return at.logged("takes a trace"); }));
  CHECK(is(at.control("GET /trace"), 409));
  CHECK(is(at.read("GET /health/live"), 200));
  CHECK_FALSE(ended); // these were answered meanwhile
  asks.join();
  CHECK(is(trace, 200));
  CHECK(has(trace, "(<script>)"));
  CHECK(has(trace, "nosniff"));
  CHECK(trace.substr(trace.size() - 3) == "]}\n");
  const std::string perfetto = at.control("GET /trace?seconds=1");
  CHECK(is(perfetto, 200));
  CHECK(has(perfetto, "application/octet-stream"));
}

TEST_CASE("admin: what asks for no trace gets none") {
  const served at(small(1));
  for (const char* const query : {"seconds=0", "seconds=61", "seconds=1s", "seconds=", "format=xml"})
    CHECK(is(at.control(std::string("GET /trace?") + query), 400));
  CHECK(is(at.control("PUT /trace"), 405));
  CHECK(is(at.control("HEAD /trace"), 405));
  CHECK(is(at.read("GET /trace?seconds=1"), 404)); // task names are for the control socket
}

TEST_CASE("admin: a server that ends does not wait for a trace") {
  const auto begun = std::chrono::steady_clock::now();
  std::jthread asks;
  {
    served at(small(1));
    asks = std::jthread(
        [path = socket_path()] { static_cast<void>(ask(client(path), "GET /trace?seconds=60", "")); });
    CHECK(within(5s, [&] { return at.logged("takes a trace"); }));
  }
  CHECK(std::chrono::steady_clock::now() - begun < 30s);
}

TEST_CASE("admin: a trace whose caller has gone ends, and another one may be taken") {
  served at(small(1));
  {
    const client gone(socket_path());
    REQUIRE(gone.send("GET /trace?seconds=60 HTTP/1.1\r\n\r\n"));
    CHECK(within(5s, [&] { return at.logged("takes a trace"); }));
  }
  CHECK(within(10s, [&] { return is(at.control("GET /trace?seconds=1"), 200); }));
}

TEST_CASE("admin: a trace job tells its end also after a stop") {
  engine e(small(1));
  std::atomic<bool> ended{false};
  admin::trace_job job(e, {.time = 60s, .json = true}, [&] { ended = true; });
  job.stop();
  CHECK(within(5s, [&] { return ended.load(); }));
}
