#include "faults.hpp"
#include "small_engine.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

// Copies of closures wait in an inbox, and there is no memory to take them out.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

constexpr int tasks = 100;

void submit_counting(engine& e, std::atomic<int>& run) {
  for (int i = 0; i < tasks; ++i) REQUIRE(e.submit([&run] { run.fetch_add(1); }) == submit_result::accepted);
}

} // namespace

TEST_CASE("inbox: what there is no memory for stays, and runs when there is some") {
  engine e(small_profile(2));
  std::atomic<int> run{0};
  tests::refuse_blocks(true);
  submit_counting(e, run);
  std::this_thread::sleep_for(20ms);
  CHECK(run == 0);
  tests::refuse_blocks(false);
  e.drain();
  CHECK(run == tasks);
}

TEST_CASE("inbox: what there is no memory for keeps nothing else from running") {
  engine e(small_profile(1));
  std::atomic<int> run{0};
  std::atomic<int> others{0};
  tests::refuse_blocks(true);
  submit_counting(e, run);
  for (const task_class c : {task_class::latency, task_class::background})
    REQUIRE(e.submit([&] { others.fetch_add(1); }, {.run_as = c}) == submit_result::accepted);
  for (int i = 0; i < 10'000 && others != 2; ++i) std::this_thread::sleep_for(1ms);
  CHECK(others == 2);
  CHECK(run == 0);
  tests::refuse_blocks(false);
  e.drain();
  CHECK(run == tasks);
}

TEST_CASE("inbox: an engine that ends waits for the memory to drop what is there") {
  engine e(small_profile(2));
  std::atomic<int> run{0};
  tests::refuse_blocks(true);
  submit_counting(e, run);
  const std::jthread later([] {
    std::this_thread::sleep_for(20ms);
    tests::refuse_blocks(false);
  });
  const shutdown_report report = e.shutdown(0ms);
  CHECK(report.running.empty());
  CHECK(report.dropped + static_cast<std::size_t>(run) == tasks);
}
