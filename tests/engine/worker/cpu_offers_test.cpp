#include "worker/cpu_offers.hpp"

#include <doctest/doctest.h>

using namespace corewise::detail;
using namespace std::chrono_literals;

TEST_CASE("offers: a worker whose CPU comes back soon offers it each time") {
  cpu_offers offers;
  monotonic::time_point now{1h};
  for (int i = 0; i < 10; ++i) {
    CHECK(offers.due(now));
    offers.made(now, now + 900us);
    now += 900us;
  }
}

TEST_CASE("offers: after a long absence the worker offers nothing for a while, for longer each time") {
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

TEST_CASE("offers: a long absence counts as the first again when absences have been short for as long as the "
          "last pause") {
  for (const auto& [short_for, rest] : {std::pair{79ms, 80ms}, std::pair{80ms, 20ms}}) {
    CAPTURE(short_for.count());
    cpu_offers offers;
    monotonic::time_point now{1h};
    offers.made(now, now + 4ms);
    now += 24ms;
    offers.made(now, now + 4ms);
    now += 44ms;
    for (int i = 0; i <= short_for / 1ms; ++i) {
      REQUIRE(offers.due(now + i * 1ms));
      offers.made(now + i * 1ms, now + i * 1ms);
    }
    now += short_for;
    offers.made(now, now + 4ms);
    CHECK_FALSE(offers.due(now + 4ms + rest - 1ns));
    CHECK(offers.due(now + 4ms + rest));
  }
}
