#include "fib.hpp"
#include "small_engine.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/when_all.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <new>

// Counts what the whole program takes from operator new.

namespace {
std::atomic<std::uint64_t> allocations{0};
}

void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace corewise;

TEST_CASE("forking and running take nothing from operator new once the blocks are there") {
  engine e(small_profile(1)); // one worker: what it needs at the peak does not depend on others
  for (int i = 0; i < 3; ++i) REQUIRE(sync_wait(e, fib(18)) == 2584);
  const std::uint64_t before = allocations.load();
  REQUIRE(before != 0); // it counts
  for (int i = 0; i < 20; ++i) REQUIRE(sync_wait(e, fib(18)) == 2584);
  CHECK(allocations.load() - before == 0);
}
