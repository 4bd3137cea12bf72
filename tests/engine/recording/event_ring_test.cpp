#include "recording/event_ring.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

using corewise::detail::event_ring;

TEST_CASE("event_ring: a reader finds the newest events, in order") {
  const auto ring = std::make_unique<event_ring>();
  std::vector<event_ring::event> seen;
  CHECK(ring->copy(0, seen).end == 0);
  for (std::uint64_t i = 0; i < 10; ++i) ring->add({i, i, i, i});
  CHECK(ring->copy(4, seen).first == 4);
  REQUIRE(seen.size() == 6);
  CHECK(seen[0] == event_ring::event{4, 4, 4, 4});
  seen.clear();
  for (std::uint64_t i = 10; i < event_ring::capacity + 100; ++i) ring->add({i, i, i, i});
  const event_ring::range got = ring->copy(10, seen);
  CHECK(got.end == event_ring::capacity + 100);
  CHECK(got.first == 101); // one more than was overwritten: the writer may be at work on that entry
  REQUIRE(seen.size() == got.end - got.first);
  CHECK(seen[0][0] == got.first);
}

TEST_CASE("event_ring: no event is read while the writer is at work on it") {
  const auto ring = std::make_unique<event_ring>();
  std::atomic<bool> over{false};
  std::jthread writer([&] {
    for (std::uint64_t i = 0; !over; ++i) ring->add({i, ~i, i * 3, i ^ 0x5555});
  });
  std::uint64_t next = 0;
  std::uint64_t copied = 0;
  for (int round = 0; round < 2000 || copied < 100'000; ++round) {
    std::vector<event_ring::event> seen;
    const event_ring::range got = ring->copy(next, seen);
    REQUIRE(seen.size() == got.end - got.first);
    for (std::uint64_t i = got.first; i < got.end; ++i) {
      const event_ring::event expected{i, ~i, i * 3, i ^ 0x5555};
      if (seen[i - got.first] != expected) FAIL("event " << i << " is torn");
    }
    copied += seen.size();
    next = got.end;
  }
  over = true;
}
