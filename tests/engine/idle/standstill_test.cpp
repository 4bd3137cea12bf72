// Tests that other domains take what waits in a domain whose workers begin nothing.

#include "base/clock.hpp"
#include "idle/standstill_watch.hpp"
#include "small_engine.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// One worker in each of two domains, on two nodes of a package or in two packages. So the level between
/// them differs, and each needs several waiting tasks before a worker of the other takes one.
profile two_domains(const std::string& machine, std::chrono::nanoseconds stuck_after) {
  profile p = small_profile(0);
  p.workers.total.reset();
  p.topology.groups.group_by = domain_kind::llc;
  p.topology.machine.source = synthetic_source{machine};
  p.blocking.stuck_after = stuck_after;
  return p;
}

constexpr const char* two_caches = "pack:1 numa:1 l3:2 core:1 pu:1";
constexpr const char* two_nodes = "pack:1 numa:2 l3:1 core:1 pu:1";
constexpr const char* two_packages = "pack:2 numa:1 l3:1 core:1 pu:1";

/// A task submits `count` tasks for its own group and waits for them without a word. Returns whether they
/// all ran while it waited.
bool others_run(const profile& p, int count, hint where = {}) {
  engine e(p);
  REQUIRE(e.workers().size() == 2);
  where.group = first_group;
  std::atomic<int> ran{0};
  bool all = false;
  const auto stands = [&] {
    for (int i = 0; i < count; ++i) CHECK(e.submit([&] { ++ran; }, where) == submit_result::accepted);
    const auto patience = std::chrono::steady_clock::now() + 20s;
    while (ran < count && std::chrono::steady_clock::now() < patience) std::this_thread::sleep_for(1ms);
    all = ran == count;
  };
  REQUIRE(e.submit(stands, {.group = first_group}) == submit_result::accepted);
  e.drain();
  return all;
}

} // namespace

TEST_CASE("standstill: what waits behind a task that does not end is taken by another domain") {
  for (const char* machine : {two_caches, two_nodes, two_packages})
    for (const int count : {1, 2, 4}) {
      CAPTURE(machine);
      CAPTURE(count);
      CHECK(others_run(two_domains(machine, 20ms), count));
      CHECK(others_run(two_domains(machine, 20ms), count, urgent));
      CHECK(others_run(two_domains(machine, 20ms), count, patient));
    }
}

TEST_CASE("standstill: it is found without reports of stuck workers, without slots and without rescues") {
  profile p = two_domains(two_packages, 20ms);
  p.blocking.stuck_after.reset();
  p.queues.lifo_cap = 0;
  p.idle.park_timeout.kind = park_timeout_setting::mode::never;
  CHECK(others_run(p, 1));
}

TEST_CASE(
    "standstill: what waits at a seat that is lent and that no thread takes is taken by another domain") {
  profile p = two_domains(two_packages, 20ms);
  p.blocking.spares_max = 0;
  gate g;
  engine e(p);
  std::atomic<bool> ran{false};
  const auto lends = [&] {
    CHECK(e.submit([&] {
      ran = true;
      ran.notify_all();
    }) == submit_result::accepted);
    blocking([&] { g.pass(); });
  };
  REQUIRE(e.submit(lends, {.group = first_group}) == submit_result::accepted);
  ran.wait(false); // hangs if nobody comes
  g.open();
  e.drain();
  CHECK(ran);
}

TEST_CASE("standstill: nobody comes where workers do not steal") {
  profile p = two_domains(two_packages, 20ms);
  p.steal.policy = "none";
  engine e(p);
  std::atomic<bool> ran{false};
  bool early = true;
  const auto stands = [&] {
    CHECK(e.submit([&] { ran = true; }, {.group = first_group}) == submit_result::accepted);
    std::this_thread::sleep_for(200ms);
    early = ran;
  };
  REQUIRE(e.submit(stands, {.group = first_group}) == submit_result::accepted);
  e.drain();
  CHECK(!early);
  CHECK(ran);
}

TEST_CASE("standstill: a domain stands still when it has begun nothing for half of the time, and is found by "
          "its end") {
  using detail::monotonic;
  constexpr auto patience = 80ms;
  constexpr auto rest = patience / 8;
  detail::standstill_watch watch(1);
  auto now = monotonic::time_point{} + 1h;
  detail::standstill_watch::sight at{.begun = 0, .waiting = 1};
  bool still = false;
  const auto look = [&] {
    return watch.look(
        now, patience, [&](std::uint32_t) { return at; }, [&](std::uint32_t, bool is) { still = is; });
  };
  /// Returns after how long it is found, looking as often as it asks for.
  const auto found_after = [&] {
    const auto began = now;
    for (look(); !still && now - began < 10 * patience; look()) now += rest;
    return now - began;
  };
  // The first look is after a long rest, which does not count.
  CHECK(look() == rest);
  CHECK(!still);
  const auto first = found_after();
  CHECK(first <= patience);
  at.begun = 1; // a task has begun: it does not stand still any more
  now += rest;
  look();
  CHECK(!still);
  const auto second = found_after();
  CHECK(second >= patience / 2 - rest);
  CHECK(second <= patience);
  at.waiting = 0; // nothing waits
  now += rest;
  look();
  CHECK(!still);
  at.waiting = 1;
  now += 1h; // nobody has looked: this counts as two rests
  look();
  CHECK(!still);
  // Between two looks it says how long the rest is.
  now += rest / 4;
  CHECK(look() == rest - rest / 4);
}
