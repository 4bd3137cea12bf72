// Tests of an engine whose host slows cores down, fed by a recorded machine.

#include "following.hpp"
#include "topology/recorded_host.hpp"

#include <corewise/engine/detail/loop.hpp>
#include <corewise/engine/load.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

TEST_CASE(
    "following: cores that the host slows down count for less when tasks are placed and loops are dealt") {
  const recorded_host host(4);
  for (int cpu = 0; cpu < 4; ++cpu) host.frequency(cpu, 3'000'000, 3'000'000);
  engine e(waiting(host));
  REQUIRE(e.groups().size() == 2);
  begin_supervisor(e);
  const auto capacity = [&](std::uint32_t g) {
    std::uint64_t sum = 0;
    for (const worker_metrics& w : e.metrics().workers) sum += w.group.value == g ? w.capacity : 0;
    return sum;
  };
  /// How many of the 1,000 parts of a loop are dealt to the first group.
  const auto dealt = [&] {
    return e.run([]() -> task<std::uint64_t> { co_return detail::loop_shares_here(1000).front().end; }).get();
  };
  CHECK(capacity(0) == 2048);
  CHECK(dealt() == 500);
  for (const int cpu : {0, 1}) host.frequency(cpu, 3'000'000, 750'000);
  const std::optional<machine_change> slowed = e.refresh();
  REQUIRE(slowed);
  CHECK(slowed->text.find("group 0 at 25% of the speed") != std::string::npos);
  CHECK(slowed->workers_now == slowed->workers_before);
  CHECK(capacity(0) == 512);
  CHECK(capacity(1) == 2048);
  CHECK(dealt() == 200);
  load_meter meter(e);
  CHECK(meter.read().effective_capacity == doctest::Approx(2.5));
  CHECK(meter.read().capacity == doctest::Approx(4));

  CHECK(e.apply(e.configuration()).applied()); // another profile changes nothing of it
  CHECK(dealt() == 200);
  for (const int cpu : {0, 1}) host.frequency(cpu, 3'000'000, 3'000'000);
  CHECK(e.refresh());
  CHECK(dealt() == 500);
}

TEST_CASE("following: cores of which the firmware takes performance away count for less, and only once") {
  const recorded_host host(4);
  for (int cpu = 0; cpu < 4; ++cpu) {
    host.frequency(cpu, 3'000'000, 3'000'000);
    host.performance(cpu, "highest_perf", "300");
  }
  engine e(waiting(host));
  begin_supervisor(e);
  const auto dealt = [&] {
    return e.run([]() -> task<std::uint64_t> { co_return detail::loop_shares_here(1000).front().end; }).get();
  };
  CHECK(e.metrics().workers[0].capacity == 1024);
  for (const int cpu : {0, 1}) host.performance(cpu, "highest_perf", "75");
  const std::optional<machine_change> slowed = e.refresh();
  REQUIRE(slowed);
  CHECK(slowed->text.find("group 0 at 25% of the speed") != std::string::npos);
  CHECK(e.metrics().workers[0].capacity == 256);
  CHECK(e.metrics().workers[3].capacity == 1024);
  CHECK(dealt() == 200);
  for (const int cpu : {0, 1}) host.frequency(cpu, 3'000'000, 1'500'000);
  CHECK_FALSE(e.refresh()); // the kernel lowers the frequency for the same reason
  for (const int cpu : {0, 1}) host.performance(cpu, "highest_perf", "300");
  CHECK(e.refresh());
  CHECK(e.metrics().workers[0].capacity == 512);
  for (const int cpu : {0, 1}) host.frequency(cpu, 3'000'000, 3'000'000);
  CHECK(e.refresh());
  CHECK(dealt() == 500);
}

TEST_CASE("following: an engine that begins on slowed cores knows it") {
  const recorded_host host(4);
  for (int cpu = 0; cpu < 4; ++cpu) host.frequency(cpu, 3'000'000, cpu < 2 ? 1'500'000 : 3'000'000);
  const engine e(waiting(host));
  CHECK(e.metrics().workers[0].capacity == 512);
  CHECK(e.metrics().workers[3].capacity == 1024);
}

TEST_CASE("following: tasks go to the cores that have kept their speed") {
  const recorded_host host(4);
  for (int cpu = 0; cpu < 4; ++cpu) host.frequency(cpu, 3'000'000, cpu < 2 ? 300'000 : 3'000'000);
  engine e(waiting(host));
  std::atomic<int> fast{0};
  for (int i = 0; i < 200; ++i) {
    e.run([&] { fast += e.workers()[*e.this_worker()].group == group_id{1} ? 1 : 0; }).get();
    std::this_thread::sleep_for(100us);
  }
  CHECK(fast > 150); // one at a time: to an idle core a task costs ten times as much in the first group
}
