#include "faults.hpp"
#include "queues/segment_writer.hpp"
#include "small_engine.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

// Copies of closures wait in an inbox or an injection queue, and there is no memory to take them out.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

constexpr int tasks = 100;

/// Refuses memory while it lives.
struct no_memory {
  no_memory() { tests::refuse_blocks(true); }
  no_memory(const no_memory&) = delete;
  no_memory& operator=(const no_memory&) = delete;
  ~no_memory() { tests::refuse_blocks(false); }
};

void submit_counting(engine& e, std::atomic<int>& run) {
  detail::this_execution.until_sample = tasks + 1; // a sampled closure does not go as a copy
  for (int i = 0; i < tasks; ++i) REQUIRE(e.submit([&run] { run.fetch_add(1); }) == submit_result::accepted);
}

} // namespace

TEST_CASE("inbox: a task without memory for its block stays, and runs when there is memory") {
  std::atomic<int> run{0};
  engine e(small_profile(2));
  {
    const no_memory now;
    submit_counting(e, run);
    std::this_thread::sleep_for(20ms);
    CHECK(run == 0);
  }
  e.drain();
  CHECK(run == tasks);
}

TEST_CASE("inbox: a task without memory for its block does not hold up other tasks") {
  std::atomic<int> run{0};
  std::atomic<int> others{0};
  engine e(small_profile(1));
  {
    const no_memory now;
    submit_counting(e, run);
    for (const task_class c : {task_class::latency, task_class::background})
      REQUIRE(e.submit([&] { others.fetch_add(1); }, {.run_as = c}) == submit_result::accepted);
    for (int i = 0; i < 10'000 && others != 2; ++i) std::this_thread::sleep_for(1ms);
    CHECK(others == 2);
    CHECK(run == 0);
  }
  e.drain();
  CHECK(run == tasks);
}

TEST_CASE("inbox: an engine that ends waits for memory, and then drops the tasks") {
  std::atomic<int> run{0};
  engine e(small_profile(2));
  std::optional<no_memory> now(std::in_place);
  submit_counting(e, run);
  const std::jthread later([&] {
    std::this_thread::sleep_for(20ms);
    now.reset();
  });
  const shutdown_report report = e.shutdown(0ms);
  CHECK(report.running.empty());
  CHECK(report.dropped + static_cast<std::size_t>(run) == tasks);
}

namespace {

/// An engine whose one worker is held until `hold` opens, and whose tasks have gone to the injection queue,
/// as copies.
struct overflowing {
  std::atomic<int> run{0};
  gate hold;
  engine e{[] {
    profile p = small_profile(1);
    p.queues.inbox = 2;
    return p;
  }()};

  overflowing() {
    REQUIRE(e.submit([this] { hold.pass(); }) == submit_result::accepted);
    hold.wait_for(1);
    const std::array<std::byte, 32> large{};
    for (int i = 0; i < 2; ++i) // the inbox has room for these; they are no copies
      REQUIRE(e.submit([large] { static_cast<void>(large); }) == submit_result::accepted);
    submit_counting(e, run);
    CHECK(e.metrics().injected == tasks);
  }
  ~overflowing() { hold.open(); }
};

} // namespace

TEST_CASE("injection queue: a task without memory for its block stays, and runs when there is memory") {
  constexpr int by_address =
      int{detail::segment_writer::long_row} - 1; // those before the segment need no memory
  overflowing o;
  {
    const no_memory now;
    o.hold.open();
    std::this_thread::sleep_for(20ms);
    CHECK(o.run <= by_address);
    CHECK(o.e.metrics().injected >= tasks - by_address);
  }
  o.e.drain();
  CHECK(o.run == tasks);
  CHECK(o.e.metrics().injected == 0);
}

TEST_CASE("injection queue: a task that comes without memory for copies is queued by its address") {
  overflowing o;
  {
    const no_memory now;
    submit_counting(o.e, o.run);
    CHECK(o.e.metrics().injected == 2 * tasks);
  }
  o.hold.open();
  o.e.drain();
  CHECK(o.run == 2 * tasks);
}

TEST_CASE("injection queue: an engine that ends waits for memory, and then drops the tasks") {
  overflowing o;
  std::optional<no_memory> now(std::in_place);
  const std::jthread later([&] {
    std::this_thread::sleep_for(20ms);
    now.reset();
  });
  o.hold.open();
  const shutdown_report report = o.e.shutdown(0ms);
  CHECK(report.running.empty());
  CHECK(report.dropped + static_cast<std::size_t>(o.run) >= tasks);
}
