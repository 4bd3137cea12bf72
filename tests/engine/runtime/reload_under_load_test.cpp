// Applies one profile after another while tasks of all sorts run.

#include "reloading.hpp"
#include "small_engine.hpp"

#include <corewise/engine/yield.hpp>
#include <corewise/policies/policy.hpp>
#include <corewise/policies/steal_policy.hpp>

#include <doctest/doctest.h>

#include <thread>

using namespace corewise;
using namespace corewise::tests;

namespace {

/// Applies one profile after another, chosen by `choose(n)`, while tasks of all sorts run.
template <class Choose> void reload_under_load(const profile& begin, int reloads, const Choose& choose) {
  constexpr int threads = 3;
  engine e(begin);
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> runs{0};
  const auto nap = [&]() -> task<> {
    for (int i = 0; i < 3; ++i) co_await yield();
    runs.fetch_add(1);
  };
  std::vector<std::thread> submitters;
  for (int t = 0; t < threads; ++t)
    submitters.emplace_back([&] {
      for (std::uint64_t n = 0; !over; ++n) {
        if (e.submit([&] {
              runs.fetch_add(1);
              if (e.submit([&] { runs.fetch_add(1); }) == submit_result::accepted) accepted.fetch_add(1);
            }) == submit_result::accepted)
          accepted.fetch_add(1);
        if (e.submit(nap()) == submit_result::accepted) accepted.fetch_add(1);
        if (e.submit([&] { runs.fetch_add(1); }, n % 2 == 0 ? urgent : patient) == submit_result::accepted)
          accepted.fetch_add(1);
        if (n % 16 == 0 && e.submit(nap(), n % 32 == 0 ? urgent : patient) == submit_result::accepted)
          accepted.fetch_add(1);
        if (n % 64 == 63) e.drain();
      }
    });
  for (int n = 0; n < reloads; ++n) {
    const apply_result answer = e.apply(choose(n));
    CHECK_MESSAGE(answer.applied(), answer.to_text());
    std::this_thread::sleep_for(std::chrono::milliseconds{2}); // so that tasks run under it
  }
  over = true;
  for (std::thread& t : submitters) t.join();
  e.drain();
  CHECK(runs == accepted);
  CHECK(e.metrics().in_flight() == 0);
  CHECK(e.metrics().total().rescued_by_timeout == 0);
  // Each worker takes up the last rules, busy or not.
  while (e.metrics().outdated != 0) std::this_thread::yield();
}

} // namespace

TEST_CASE(
    "apply: under load, with all policies and from 8 workers to 1 and back, no task is lost or runs twice") {
  const auto policies = policy_names();
  const auto steals = steal_policy_names();
  reload_under_load(small_profile(8), 150, [&](int n) {
    const auto i = static_cast<std::size_t>(n);
    profile p = small_profile(n % 3 == 0 ? 1 : n % 3 == 1 ? 8 : 1 + static_cast<std::uint32_t>(n) % 8);
    p.dispatch.policy = policies[i % policies.size()];
    p.steal.policy = steals[i / 3 % steals.size()];
    p.queues.lifo_cap = n % 4 == 0 ? 0 : 3;
    p.queues.lifo_age.reset();
    if (n % 5 != 0) p.queues.lifo_age = std::chrono::microseconds{50};
    if (n % 7 == 0) p.idle.park_timeout.kind = park_timeout_setting::mode::never;
    return p;
  });
}

TEST_CASE(
    "apply: under load, without stealing and shared queues, from 8 workers to 1 and back, no task is lost") {
  reload_under_load(without_sharing(8), 100, [&](int n) {
    profile p = without_sharing(n % 2 == 0 ? 1 : 8);
    p.dispatch.policy = n % 3 == 0 ? "lightest" : n % 3 == 1 ? "local_first" : "round_robin";
    return p;
  });
}

TEST_CASE(
    "apply: under load, whole domains of fast and slow workers come and go, with and without stealing") {
  profile begin = two_package_profile(4);
  begin.workers.per_group.reset();
  begin.topology.machine.source = synthetic_source{"pack:2 numa:1 l3:1 core:4 pu:1"};
  begin.topology.machine.kinds = {{*cpu_set::parse("0-1,4-5"), "P", 1024},
                                  {*cpu_set::parse("2-3,6-7"), "E", 500}};
  begin = with_workers(begin, 8);
  reload_under_load(begin, 100, [&](int n) {
    profile p = with_workers(begin, n % 2 == 0 ? 1 + static_cast<std::uint32_t>(n) % 3 : 8);
    if (n % 4 >= 2) p.steal.policy = "none";
    return p;
  });
}
