#include "admin_server.hpp"
#include "within.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

TEST_CASE("admin: a body that waits for leave gets it") {
  served on(parse_profile("workers: {pin: none}\n"));
  const std::string body = "workers: {pin: none}\nqueues: {budget: 77}\n";
  const client c(socket_path());
  REQUIRE(c.send("PUT /profile HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: " +
                 std::to_string(body.size()) + "\r\n\r\n"));
  const std::string leave = "HTTP/1.1 100 Continue\r\n\r\n";
  CHECK(c.receive(leave.size()) == leave);
  REQUIRE(c.send(body));
  CHECK(is(c.rest(), 200));
  CHECK(on.e.configuration().queues.budget == 77);
}

TEST_CASE("admin: a client gets JSON where it wants that as much as text") {
  const served on(small(1));
  const auto type_for = [&](const std::string& accept) {
    const std::string answer = on.read("GET /load", "Host: localhost\r\nAccept: " + accept + "\r\n");
    return has(answer, "\r\nContent-Type: application/json\r\n") ? "json" : "text";
  };
  for (const char* json :
       {"application/json", "application/json, text/plain, */*", "text/plain;q=.5, application/json;q=0.7"})
    CHECK(type_for(json) == std::string("json"));
  for (const char* other : {"*/*", "text/plain, application/json;q=0.1", "application/json;q=0", "text/html"})
    CHECK(type_for(other) == std::string("text"));
}

TEST_CASE("admin: names of hosts have no case and may end in a dot, and a target may be a whole URL") {
  const served on(small(1)); // serves scraped.example
  for (const char* host : {"LocalHost", "localhost.", "Scraped.Example:9464", "scraped.example."})
    CHECK(is(on.read("GET /metrics", std::string("Host: ") + host + "\r\n"), 200));
  for (const char* host : {"localhost..", "scraped.example.org", "."})
    CHECK(is(on.read("GET /metrics", std::string("Host: ") + host + "\r\n"), 403));
  CHECK(is(on.read("GET http://localhost/metrics?detail=sums"), 200));
  CHECK(is(on.read("GET http://localhost"), 404));
}
