#include "io/server_process.hpp"

// The daemon of examples/admin.cpp.

TEST_CASE("admin: the example answers until it is told to end") {
  server_process daemon(COREWISE_ADMIN_EXAMPLE, "curl http://127.0.0.1:%u/metrics");
  const client c(daemon.port());
  REQUIRE(c.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  const std::string metrics = c.response();
  CHECK(metrics.find("\ncorewise_daemons 1\n") != std::string::npos);
  CHECK(metrics.find("\ncorewise_health{state=\"ok\"} 1\n") != std::string::npos);
  CHECK(daemon.end(SIGTERM) == 0);
}
