#include "server_process.hpp"

#include <string>

// The servers of docs/from_asio.md: what a client sees of them is the same.

TEST_CASE("from_asio: the server of Asio's and that on corewise serve the same clients") {
  for (const char* const program : {COREWISE_BEFORE, COREWISE_AFTER}) {
    server_process server(program, "%u");
    for (int i = 0; i < 10; ++i) {
      const client one(server.port());
      const client other(server.port());
      for (const client* c : {&one, &other, &one}) {
        REQUIRE(c->send("hello " + std::to_string(i)));
        CHECK(c->receive(7) == "hello " + std::to_string(i));
      }
    }
    CHECK(server.end(SIGTERM) == 0);
  }
}
