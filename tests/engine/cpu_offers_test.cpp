#include "cpu_offers.hpp"

#include <doctest/doctest.h>

using namespace corewise::detail;
using namespace std::chrono_literals;

TEST_CASE("offers: a CPU that comes back soon is offered each time") {
  cpu_offers offers;
  monotonic::time_point now{1h};
  for (int i = 0; i < 10; ++i) {
    CHECK(offers.due(now));
    offers.made(now, now + 900us);
    now += 900us;
  }
}

TEST_CASE("offers: after a long absence there is none for a while, for longer each time") {
  cpu_offers offers;
  monotonic::time_point now{1h};
  for (const auto rest : {20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1280ms, 2560ms, 5120ms, 10000ms, 10000ms}) {
    REQUIRE(offers.due(now));
    offers.made(now, now + 4ms);
    now += 4ms;
    CHECK_FALSE(offers.due(now));
    CHECK_FALSE(offers.due(now + rest - 1ns));
    now += rest;
  }
  CHECK(offers.due(now));
}

TEST_CASE("offers: a short absence makes the next long one count as the first") {
  cpu_offers offers;
  monotonic::time_point now{1h};
  offers.made(now, now + 4ms);
  now += 24ms;
  offers.made(now, now + 4ms);
  now += 44ms;
  REQUIRE(offers.due(now));
  offers.made(now, now + 1us);
  offers.made(now, now + 4ms);
  CHECK_FALSE(offers.due(now + 4ms + 19ms));
  CHECK(offers.due(now + 4ms + 20ms));
}
