#include "server_process.hpp"

#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

// The server of examples/http_server.cpp.

using namespace std::chrono_literals;

namespace {

bool is_whole(const std::string& response) {
  const std::size_t head = response.find("\r\n\r\n");
  const std::size_t at = response.find("Content-Length: ");
  return head != std::string::npos && at != std::string::npos &&
         response.size() == head + 4 + std::stoul(response.substr(at + 16));
}

} // namespace

TEST_CASE("http_server: its routes, one after another on one connection") {
  server_process server(COREWISE_HTTP_SERVER, "http://127.0.0.1:%u/");
  const client c(server.port());
  for (int i = 0; i < 3; ++i) {
    CHECK(c.ask("/").find("\r\n\r\nhello\n") != std::string::npos);
    CHECK(c.ask("/primes").find("\r\n\r\n2262\n") != std::string::npos);
    CHECK(c.ask("/metrics").find("\ncorewise_health{state=\"ok\"} 1\n") != std::string::npos);
    CHECK(c.ask("/file").find("\r\n\r\nread\n") != std::string::npos);
    CHECK(c.ask("/nothing").find("404") != std::string::npos);
  }
  server.signal(SIGHUP);
  CHECK(c.ask("/").find("hello") != std::string::npos);
  CHECK(server.end(SIGTERM) == 0);
}

TEST_CASE("http_server: it tells its load in the form in which a client asks for it") {
  server_process server(COREWISE_HTTP_SERVER, "http://127.0.0.1:%u/");
  const client c(server.port());
  const auto load = [&](const std::string& field) {
    REQUIRE(c.send("GET / HTTP/1.1\r\nHost: x\r\n" + field + "\r\n"));
    return c.response();
  };
  const std::string field = "endpoint-load-metrics: ";
  CHECK(load("").find("endpoint-load") == std::string::npos);
  CHECK(load("endpoint-load-metrics-format: TEXT\r\n").find(field + "TEXT cpu_utilization=") !=
        std::string::npos);
  const std::string json = load("endpoint-load-metrics-format: JSON\r\n");
  CHECK(json.find(field + "JSON {\"cpu_utilization\":") != std::string::npos);
  CHECK(json.find("\"named_metrics\":{\"in_flight\":1,") != std::string::npos); // this one
}

TEST_CASE("http_server: clients that send nonsense, a part, or nothing") {
  server_process server(COREWISE_HTTP_SERVER, "http://127.0.0.1:%u/");
  {
    const client c(server.port());
    REQUIRE(c.send("NONSENSE\r\n\r\n"));
    CHECK(c.response().find("400") != std::string::npos);
  }
  {
    const client c(server.port());
    for (const char byte : std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
      REQUIRE(c.send(std::string(1, byte)));
    CHECK(c.response().find("hello") != std::string::npos);
  }
  {
    const client c(server.port());
    REQUIRE(c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    c.end_of_sending(); // half closed
    CHECK(c.response().find("hello") != std::string::npos);
  }
  {
    const client c(server.port());
    REQUIRE(c.send("GET / HT")); // and goes
  }
  {
    const client c(server.port());
    REQUIRE(c.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n"));
    CHECK(c.response().find("HTTP/1.1 4") == 0);
  }
  std::minstd_rand random(12345);
  const auto until = std::chrono::steady_clock::now() + 2s;
  while (std::chrono::steady_clock::now() < until) {
    std::string noise = random() % 2 == 0 ? "GET / HTTP/1.1\r\n" : "";
    for (std::size_t i = random() % 200; i > 0; --i) noise += static_cast<char>(random() % 256);
    noise += "\r\n\r\n";
    const client c(server.port());
    static_cast<void>(c.send(noise));
    c.end_of_sending();
    static_cast<void>(c.response());
  }
  CHECK(client(server.port()).ask("/").find("hello") != std::string::npos);
  CHECK(server.end(SIGTERM) == 0);
}

TEST_CASE("http_server: SIGTERM under load cuts no response in two") {
  std::atomic<int> whole{0};
  for (int round = 0; round < 20; ++round) {
    server_process server(COREWISE_HTTP_SERVER, "http://127.0.0.1:%u/");
    std::atomic<bool> told{false};
    std::atomic<int> cut{0};
    std::atomic<int> refused_before{0};
    std::vector<std::thread> clients;
    for (int i = 0; i < 8; ++i)
      clients.emplace_back([&, i] {
        for (;;) {
          const client c(server.port());
          if (!c.connected()) {
            if (!told) ++refused_before;
            return;
          }
          for (int n = 0; n < 20; ++n) {
            const std::string got = c.ask(i % 4 == 0 ? "/file" : "/");
            if (is_whole(got))
              ++whole;
            else if (!got.empty())
              ++cut;
            else if (!told)
              ++refused_before;
            if (!is_whole(got)) break;
            if (got.find("Connection: close") != std::string::npos) break;
          }
        }
      });
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + 5 * round));
    told = true;
    CHECK(server.end(SIGTERM) == 0);
    for (std::thread& t : clients) t.join();
    CHECK(cut == 0);
    CHECK(refused_before == 0);
  }
  CHECK(whole > 0);
}
