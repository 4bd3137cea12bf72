#include "admin_server.hpp"
#include "within.hpp"

#include <corewise/admin/server.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/io/service.hpp>
#include <corewise/io/stream.hpp>
#include <corewise/topology/machine_json.hpp>

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

TEST_CASE("admin: a scraper reads metrics and health by TCP, and no more") {
  served on(small(2));
  const std::string metrics = on.read("GET /metrics");
  CHECK(is(metrics, 200));
  CHECK(has(metrics, "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  CHECK(has(metrics, "\r\nServer: corewise\r\n")); // by which the command knows it
  CHECK(has(metrics, "\r\nX-Content-Type-Options: nosniff\r\n"));
  CHECK(has(metrics, "\r\nContent-Security-Policy: default-src 'none'\r\n"));
  CHECK(has(metrics, "\ncorewise_workers_active{group=\"0\"} 2\n"));
  CHECK(has(on.read("GET /metrics?detail=workers"), "corewise_workers_active{group=\"0\",worker=\"1\"} 1\n"));
  CHECK(is(on.read("GET /metrics?detail=all"), 400));
  CHECK(has(
      on.read("GET /metrics", "Host: localhost\r\nAccept: application/openmetrics-text; version=1.0.0\r\n"),
      "# EOF\n"));
  const std::string json = on.read("GET /metrics", "Host: localhost\r\nAccept: application/json\r\n");
  CHECK(has(json, "\r\nContent-Type: application/json\r\n"));
  CHECK(has(json, "\"groups\":[{\"group\":0,\"kind\":\""));
  CHECK(is(on.read("GET /health/live"), 200));
  CHECK(is(on.read("GET /health/ready"), 200));

  const std::string head = on.read("HEAD /metrics");
  CHECK(is(head, 200));
  CHECK(has(head, "\r\nContent-Length: "));
  CHECK(head.substr(head.size() - 4) == "\r\n\r\n");

  for (const char* hidden : {"GET /dump", "GET /profile", "GET /nowhere", "GET /metricsx"})
    CHECK(is(on.read(hidden), 404));
  CHECK(is(on.read("POST /metrics"), 405));
  CHECK(is(ask(client(on.server.port()), "PUT /profile", "Host: localhost\r\n", "strict: true\n"), 404));
}

TEST_CASE("admin: the map is for browsers, and its figures for all who may read") {
  served on(small(2));
  const std::string browser = "Host: localhost\r\nAccept: text/html,application/xhtml+xml;q=0.9\r\n";
  const std::string page = on.read("GET /", browser);
  CHECK(is(page, 200));
  CHECK(has(page, "\r\nContent-Type: text/html; charset=utf-8\r\n"));
  CHECK(has(page, "\r\nContent-Security-Policy: default-src 'none'; script-src 'sha256-"));
  CHECK(has(page, "connect-src 'self'"));
  CHECK(has(page, "\r\nX-Content-Type-Options: nosniff\r\n"));
  for (const char* mark : {"@policy@", "@style@", "@recording@", "@script@"}) CHECK(!has(page, mark));
  CHECK(has(on.read("GET /"), "\r\n\r\n/metrics\n"));
  CHECK(has(on.read("GET /"), "\n/live\n"));
  CHECK(!has(on.read("GET /"), "/dump"));

  const std::string machine = on.read("GET /topology");
  CHECK(has(machine, "\r\nContent-Type: application/json\r\n"));
  CHECK(has(machine, "\r\n\r\n" + machine_json(on.e.machine(), on.e.groups(), on.e.workers())));
  CHECK(on.e.submit([] {}, {.name = "<script>"}) == submit_result::accepted);
  on.e.drain();
  const std::string live = on.read("GET /live");
  CHECK(has(live, "\r\nContent-Type: application/json\r\n"));
  CHECK(has(live, "\"finished\":1,"));
  CHECK(has(live, "\"active\":[1,1]"));
  CHECK(!has(live, "script"));
  CHECK(is(on.read("POST /live"), 405));
  CHECK(has(on.control("GET /"), "/dump\n"));
  CHECK(has(on.control("GET /live"), "\"active\":[1,1]"));
}

TEST_CASE("admin: a port that is forwarded to the control socket is closed to pages of other sites") {
  served on(small(1));
  const auto by_browser = [](const std::string& fields, const char* what = "GET /dump") {
    return ask(client(socket_path()), what, fields);
  };
  CHECK(is(by_browser("Host: localhost:9464\r\n"), 200));
  CHECK(is(by_browser("Host: 127.0.0.1:9464\r\n"), 200));
  for (const char* what : {"GET /dump", "GET /trace?seconds=1", "GET /profile"})
    CHECK(is(by_browser("Host: rebound.example:9464\r\n", what), 403));
  CHECK(is(by_browser("Host: localhost:9464\r\nOrigin: http://evil.example\r\n"), 403));
}

TEST_CASE("admin: a page of another site gets nothing by TCP") {
  served on(small(1));
  const std::string port = ":" + std::to_string(on.server.port());
  for (const std::string& host : {"127.0.0.1" + port, std::string("localhost"), "scraped.example" + port})
    CHECK(is(on.read("GET /metrics", "Host: " + host + "\r\n"), 200));
  for (const char* host : {"rebound.example", "127.0.0.1.example", "[::1]", "10.0.0.1", ":", "[]"})
    CHECK(is(on.read("GET /metrics", std::string("Host: ") + host + "\r\n"), 403));
  CHECK(is(on.read("GET /metrics", "Host: localhost\r\nOrigin: http://localhost\r\n"), 200));
  for (const char* origin : {"http://evil.example", "null", "https://localhost", "http://localhost:1"})
    CHECK(is(on.read("GET /metrics", std::string("Host: localhost\r\nOrigin: ") + origin + "\r\n"), 403));
}

TEST_CASE("admin: an engine in trouble is still told of, at once") {
  profile p = small(2);
  p.blocking.stuck_after = 50ms;
  std::counting_semaphore<> go_on(0);
  {
    served on(p);
    io::service service(on.e);
    io::unix_stream ends[]{io::unix_stream(service.local()), io::unix_stream(service.local())};
    io::asio::local::connect_pair(ends[0], ends[1]);
    char byte = 0;
    auto reads = [&]() -> task<> {
      io::error_code ended;
      co_await ends[0].async_read_some(io::asio::buffer(&byte, 1), io::use_task.into(ended));
    };
    CHECK(on.e.submit(reads()) == submit_result::accepted);
    const auto stand = [&] {
      CHECK(on.e.submit([&] { go_on.acquire(); }, {.name = "<script>"}) == submit_result::accepted);
    };
    stand();
    CHECK(within(5s, [&] { return is(on.read("GET /health/ready"), 503); })); // degraded
    CHECK(is(on.read("GET /health/live"), 200));
    stand();
    CHECK(on.e.submit([] {}) == submit_result::accepted);
    CHECK(within(5s, [&] { return is(on.read("GET /health/live"), 503); })); // wedged
    for (const char* what :
         {"GET /metrics", "GET /dump", "GET /profile", "GET /health/live", "GET /live", "GET /topology"}) {
      const auto begin = std::chrono::steady_clock::now();
      CHECK(has(on.control(what), "HTTP/1.1 "));
      CHECK(std::chrono::steady_clock::now() - begin < 10s);
    }
    const std::string unserved = "no worker of group 0 serves sockets: io: read of descriptor ";
    CHECK(has(on.control("GET /health/live"), unserved));
    CHECK(!has(on.read("GET /health/live"), "descriptor")); // nor its peer
    const std::string dump = on.control("GET /dump");
    CHECK(has(dump, "<script>")); // as text
    CHECK(has(dump, "\r\nContent-Type: text/plain; charset=utf-8\r\n"));
    CHECK(!has(on.read("GET /metrics?detail=workers"), "script"));
    go_on.release(2);
    ends[1].close();
    CHECK(within(5s, [&] { return is(on.read("GET /health/ready"), 200); }));
    static_cast<void>(on.e.shutdown(1s, 1s));
    CHECK(is(on.read("GET /health/ready"), 503));
    CHECK(is(on.read("GET /health/live"), 200));
  }
}

TEST_CASE("admin: requests that are too large, too slow, or no requests") {
  served on(small(1));
  CHECK(is(on.read("GET /metrics", "Host: localhost\r\nX: " + std::string(9000, 'x') + "\r\n"), 431));
  CHECK(is(ask(client(socket_path()), "PUT /profile", "Content-Length: 300000\r\n"), 413));
  CHECK(is(on.read("NONSENSE"), 400));
  CHECK(is(ask(client(on.server.port()), "GET /metrics HTTP/9.9\r\n"), 400));

  std::minstd_rand random(4711);
  const auto until = std::chrono::steady_clock::now() + 1s;
  while (std::chrono::steady_clock::now() < until) {
    std::string noise = random() % 2 == 0 ? "PUT /profile?revert_after=" : "GET /";
    for (std::size_t i = random() % 300; i > 0; --i) noise += static_cast<char>(random() % 256);
    if (random() % 2 == 0) noise += " HTTP/1.1\r\nContent-Length: 5\r\n\r\n{a: [";
    const client c(socket_path());
    static_cast<void>(c.send(noise));
    c.end_of_sending();
    static_cast<void>(c.rest());
  }
  CHECK(is(on.read("GET /metrics"), 200));

  const auto begin = std::chrono::steady_clock::now();
  const client slow(on.server.port());
  REQUIRE(slow.send("GET /metrics HTTP/1.1\r\nHost: loc"));
  CHECK(slow.rest().empty());
  const auto took = std::chrono::steady_clock::now() - begin;
  CHECK(took > 4s);
  CHECK(took < 8s);
}

TEST_CASE("admin: idle connections of one address take no place from others, and of many none from the "
          "control socket") {
  served on(small(1));
  std::vector<std::unique_ptr<client>> idle;
  for (int i = 0; i < 100; ++i) idle.push_back(std::make_unique<client>(on.server.port()));
  CHECK(within(3s, [&] { return client(on.server.port()).rest().empty(); })); // closed at once
  constexpr in_addr_t another = INADDR_LOOPBACK + 1;
  const std::string ask_it = "GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const client other(on.server.port(), another);
  REQUIRE(other.send(ask_it));
  CHECK(is(other.response(), 200));
  for (in_addr_t from = another; from < another + 4; ++from)
    for (int i = 0; i < 20; ++i) idle.push_back(std::make_unique<client>(on.server.port(), from));
  CHECK(within(3s, [&] { return client(on.server.port(), another + 4).rest().empty(); }));
  CHECK(is(on.control("GET /metrics"), 200));
  idle.clear();
  CHECK(within(5s, [&] { return is(on.read("GET /metrics"), 200); }));
}

TEST_CASE("admin: the server ends while it is asked, and a forked child leaves it alone") {
  for (int i = 0; i < 20; ++i) {
    std::atomic<bool> over{false};
    std::thread asking;
    {
      served on(small(1));
      asking = std::thread([&, port = on.server.port()] {
        while (!over) static_cast<void>(ask(client(port), "GET /metrics"));
      });
      std::this_thread::sleep_for(3ms);
    }
    over = true;
    asking.join();
  }
  auto on = std::make_unique<served>(small(1));
  const pid_t child = ::fork();
  if (child == 0) {
    on.reset();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(is(on->control("GET /metrics"), 200));
}
