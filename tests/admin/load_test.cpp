#include "http_client.hpp"
#include "within.hpp"

#include <corewise/admin/server.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/request_meter.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// An engine with its load to be read at two addresses.
struct told {
  static profile two_workers() {
    profile p;
    p.workers.total = 2;
    p.workers.pin = pin_to::none;
    return p;
  }
  admin::options with_load() const {
    admin::options o;
    o.read_only = o.agent = "127.0.0.1:0";
    o.requests = &requests;
    return o;
  }
  std::string get(const std::string& path, const std::string& fields = "") const {
    const client c(server.port());
    static_cast<void>(c.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n"));
    return c.rest();
  }
  std::string agent() const { return client(server.agent_port()).rest(); }

  request_meter requests{10};
  engine e{two_workers()};
  admin::server server{e, with_load()};
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("admin: /load has the figures of the engine and of its requests, as lines and as JSON") {
  told of;
  const auto here = of.requests.begin();
  REQUIRE(within(5s, [&] { return contains(of.get("/load"), "\nrequests_in_flight=1\n"); }));
  const std::string lines = of.get("/load");
  CHECK(lines.rfind("HTTP/1.1 200", 0) == 0);
  CHECK(contains(lines, "\ncapacity_cpus=2.0\n"));
  CHECK(contains(lines, "\ndraining=false\n"));
  const std::string json = of.get("/load", "Accept: application/json\r\n");
  CHECK(contains(json, "\r\nContent-Type: application/json\r\n"));
  CHECK(contains(json, "\"requests_in_flight\":1,"));
  CHECK(contains(of.get("/"), "/load\n"));
}

TEST_CASE("admin: the agent check gets one line and the end, whatever it sends, and drain from the stop "
          "request on") {
  auto of = std::make_unique<told>();
  const std::string line = of->agent();
  CHECK(line.rfind("ready up ", 0) == 0);
  CHECK(line.substr(line.size() - 2) == "%\n");
  const client talks(of->server.agent_port());
  static_cast<void>(talks.send("hello\n"));
  CHECK(talks.rest().rfind("ready up ", 0) == 0);
  CHECK(contains(of->get("/health/ready"), " 200 "));

  of->server.start_draining();
  CHECK(of->agent() == "drain\n");
  CHECK(contains(of->get("/health/ready"), " 503 "));
  CHECK(contains(of->get("/health/live"), " 200 "));
  CHECK(contains(of->get("/load"), "\ndraining=true\n"));
  static_cast<void>(of->e.shutdown(1s, 1s));
  CHECK(of->agent() == "drain\n");

  told ended; // without start_draining
  static_cast<void>(ended.e.shutdown(1s, 1s));
  CHECK(ended.agent() == "drain\n");
}

TEST_CASE("admin: the agent check is answered at once while all workers stand, with next to no weight left") {
  std::counting_semaphore<> go_on(0);
  std::atomic<int> standing{0};
  told of;
  for (int i = 0; i < 2; ++i)
    REQUIRE(of.e.submit([&] {
      ++standing;
      go_on.acquire();
    }) == submit_result::accepted);
  REQUIRE(
      within(60s, [&] { return standing == 2; })); // else one may run the next task first, and nothing waits
  REQUIRE(of.e.submit([] {}) == submit_result::accepted);
  CHECK(within(60s, [&] {
    const auto begin = std::chrono::steady_clock::now();
    const std::string line = of.agent();
    CHECK(std::chrono::steady_clock::now() - begin < 10s);
    return line == "ready up 1%\n" || line == "ready up 2%\n";
  }));
  go_on.release(2);
}

TEST_CASE("admin: connections to the agent check that are not read hold up no control socket, and go") {
  told of;
  std::vector<std::unique_ptr<client>> idle;
  for (int i = 0; i < 100; ++i) idle.push_back(std::make_unique<client>(of.server.agent_port()));
  CHECK(within(10s, [&] { return contains(of.get("/load"), "state=ok"); }));
  CHECK(within(10s, [&] { return of.agent().rfind("ready up ", 0) == 0; }));
}

TEST_CASE("admin: an agent check's address that is none is refused") {
  engine e(told::two_workers());
  admin::options o;
  o.agent = "localhost:1";
  CHECK_THROWS_AS(admin::server(e, o), std::invalid_argument);
}
