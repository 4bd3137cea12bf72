#include "admin_server.hpp"
#include "trace_job.hpp"
#include "within.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <future>
#include <new>
#include <string>
#include <thread>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

/// Holds up a thread that allocates a MB or more, as the one that collects a trace does, until the gate opens.
class allocation_gate {
 public:
  void close() { closed_ = true; }
  void open() {
    closed_ = false;
    closed_.notify_all();
  }
  bool holds() const { return holds_; }
  void pass(std::size_t bytes) {
    if (bytes < std::size_t{1} << 20 || !closed_) return;
    holds_ = true;
    closed_.wait(true);
    holds_ = false;
  }

 private:
  std::atomic<bool> closed_{false};
  std::atomic<bool> holds_{false};
};
constinit allocation_gate large_allocations;

} // namespace

// None is inlined: if GCC 12 has inlined one of a pair, it takes the pair for a mistake.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  large_allocations.pass(bytes);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
/// That of `std::stable_sort`: AddressSanitizer's own would not fit to the `delete` below.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return std::malloc(bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

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

TEST_CASE("admin: a trace whose caller has gone holds up no other answer until it has ended") {
  served at(small(2));
  std::jthread busy([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) at.e.run([] {}).get();
  });
  large_allocations.close();
  {
    const client gone(socket_path());
    REQUIRE(gone.send("GET /trace?seconds=60&format=json HTTP/1.1\r\n\r\n"));
    CHECK(within(30s, [] { return large_allocations.holds(); })); // its thread can see no stop now
  }
  const auto live = std::async(std::launch::async, [&] { return at.read("GET /health/live"); });
  const bool answered = live.wait_for(5s) == std::future_status::ready;
  CHECK(answered);
  if (answered) CHECK(is(at.control("GET /trace"), 409));
  large_allocations.open();
  CHECK(within(10s, [&] { return is(at.control("GET /trace?seconds=1"), 200); }));
}

TEST_CASE("admin: a trace job tells its end also after a stop") {
  engine e(small(1));
  std::atomic<bool> ended{false};
  admin::trace_job job(e, {.time = 60s, .json = true}, [&] { ended = true; });
  job.stop();
  CHECK(within(5s, [&] { return ended.load(); }));
}
