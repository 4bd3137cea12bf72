#include "admin_server.hpp"
#include "within.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <future>
#include <new>
#include <thread>

// Replaces operator new, so it is left out where sanitizers do.

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
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

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
