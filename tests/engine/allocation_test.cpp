#include "fib.hpp"
#include "small_engine.hpp"

#include <corewise/engine/barrier.hpp>
#include <corewise/engine/channel.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/latch.hpp>
#include <corewise/engine/mutex.hpp>
#include <corewise/engine/semaphore.hpp>
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

namespace {

/// What two sides wait with for each other.
struct meeting_places {
  channel<int> there{0};
  channel<int> back{1};
  event turned;
  auto_reset_event ping;
  auto_reset_event pong;
  semaphore permits{0};
  mutex alone;
  barrier together{2};
  std::stop_source stop;
};

/// Its frame may be too large for a block; so it answers what was taken after its first rounds.
task<std::uint64_t> one_side(meeting_places& at, int rounds) {
  std::uint64_t before = 0;
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    if (i == 100) before = allocations.load();
    co_await at.there.send(i, at.stop.get_token());
    const std::optional<int> answer = co_await at.back.receive();
    sum += answer.value_or(0);
    at.ping.set();
    co_await at.pong.wait(at.stop.get_token());
    co_await at.permits.acquire();
    {
      const mutex_guard lock = co_await at.alone.lock();
      co_await at.together.arrive_and_wait();
    }
    at.turned.set();
    co_await at.together.arrive_and_wait(at.stop.get_token());
    at.turned.reset();
    latch both(1);
    both.count_down();
    co_await both.wait();
  }
  if (sum != rounds * (rounds + 1) / 2) throw std::runtime_error("they do not meet");
  co_return allocations.load() - before;
}

task<> other_side(meeting_places& at, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const std::optional<int> question = co_await at.there.receive(at.stop.get_token());
    co_await at.back.send(question.value_or(0) + 1);
    co_await at.ping.wait();
    at.pong.set();
    at.permits.release();
    co_await at.together.arrive_and_wait();
    const mutex_guard lock = co_await at.alone.lock(at.stop.get_token());
    co_await at.turned.wait();
    co_await at.together.arrive_and_wait();
  }
}

task<std::uint64_t> both_sides(meeting_places& at, int rounds) {
  auto [taken, nothing] = co_await when_all(one_side(at, rounds), other_side(at, rounds));
  co_return taken;
}

} // namespace

TEST_CASE("forking and running take nothing from operator new once the blocks are there") {
  engine e(small_profile(1)); // one worker: what it needs at the peak does not depend on others
  for (int i = 0; i < 3; ++i) REQUIRE(sync_wait(e, fib(18)) == 2584);
  const std::uint64_t before = allocations.load();
  REQUIRE(before != 0); // it counts
  for (int i = 0; i < 20; ++i) REQUIRE(sync_wait(e, fib(18)) == 2584);
  CHECK(allocations.load() - before == 0);
}

TEST_CASE("waiting takes nothing from operator new, whatever for and with whatever stop token") {
  for (const std::uint32_t workers : {1U, 2U}) {
    engine e(small_profile(workers));
    meeting_places at;
    CHECK(sync_wait(e, both_sides(at, 2000)) == 0);
  }
}
