// Parallel loops whose elements are long, or some of them: all workers have a part.

#include "parallel_loops.hpp"
#include "small_engine.hpp"
#include "within.hpp"

#include <corewise/engine/detail/loop.hpp>
#include <corewise/engine/parallel_for.hpp>
#include <corewise/engine/sync_wait.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <stop_token>
#include <thread>
#include <vector>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

/// Counts how many long elements each worker has had. A long element sleeps, so that few CPUs are enough.
class shares {
 public:
  explicit shares(const engine& e) : e_(e), of_(e.workers().size()) {}
  void take(std::chrono::microseconds time) {
    ++of_[e_.this_worker()->value];
    std::this_thread::sleep_for(time);
  }
  int total() const { return std::accumulate(of_.begin(), of_.end(), 0); }
  int largest() const {
    return *std::ranges::max_element(of_, {}, [](const auto& n) { return n.load(); });
  }
  int of_group(std::uint32_t g) const {
    int sum = 0;
    for (const worker_place& w : e_.workers().workers())
      sum += w.group.value == g ? of_[w.id.value].load() : 0;
    return sum;
  }

 private:
  const engine& e_;
  std::vector<std::atomic<int>> of_;
};

} // namespace

TEST_CASE("parallel loops: long elements are dealt over all workers") {
  for (const auto& [time, number] :
       {std::pair{100us, 400}, std::pair{250us, 200}, std::pair{1000us, 100}, std::pair{20'000us, 16}}) {
    CAPTURE(time.count());
    engine e(small_profile(4));
    shares had(e);
    sync_wait(e, [&] { return parallel_for(0, number, [&](int) { had.take(time); }); });
    CHECK(had.total() == number);
    CHECK(had.largest() <= number * 3 / 4);
  }
}

TEST_CASE("parallel loops: those of a class are dealt over all workers, too") {
  engine e(small_profile(4));
  for (const task_class c : {task_class::latency, task_class::background}) {
    CAPTURE(static_cast<int>(c));
    shares had(e);
    const auto loop = [&]() -> task<> { co_await parallel_for(0, 100, [&](int) { had.take(2ms); }); };
    e.run(loop(), {.run_as = c}).get();
    CHECK(had.total() == 100);
    CHECK(had.largest() <= 75);
  }
}

TEST_CASE("parallel loops: of few long elements no worker has many") {
  std::atomic<int> begun{0};
  engine e(small_profile(8));
  shares had(e);
  const auto take =
      [&](int i) { // the first element goes before all others; these wait for workers that may be late
        had.take(1ms);
        if (i != 0) ++begun, static_cast<void>(within(60s, [&] { return begun >= 6; }));
      };
  sync_wait(e, [&] { return parallel_for(0, 8, take); });
  CHECK(had.total() == 8);
  CHECK(had.largest() <= 3);
}

TEST_CASE("parallel loops: beside long tasks a loop has its share of the time") {
  std::atomic<bool> over{false};
  std::atomic<int> others{0};
  std::function<void()> other;
  engine e(small_profile(2));
  other = [&] {
    std::this_thread::sleep_for(1ms);
    ++others;
    if (!over) REQUIRE(e.submit([&] { other(); }) == submit_result::accepted);
  };
  for (int i = 0; i < 40; ++i) REQUIRE(e.submit([&] { other(); }) == submit_result::accepted);
  while (others < 100) std::this_thread::sleep_for(1ms);
  int before = 0;
  int after = 0;
  const auto loop = [&]() -> task<> {
    before = others;
    co_await parallel_for(0, 200, [](int) { // 20 ms of work, in turns of 200 us: 100 rounds of the ring
      const auto end = std::chrono::steady_clock::now() + 100us;
      while (std::chrono::steady_clock::now() < end) {
      }
    });
    after = others;
  };
  e.run(loop()).get();
  over = true;
  e.drain();
  CHECK(after - before < 1000);
}

TEST_CASE("parallel loops: long elements are dealt over all groups") {
  engine e(two_package_profile(2));
  for (const auto time : {5000us, 250us}) { // the first loop waits for threads that have yet to start
    CAPTURE(time.count());
    shares had(e);
    sync_wait(e, [&] { return parallel_for(0, 200, [&](int) { had.take(time); }); });
    CHECK(had.total() == 200);
    CHECK(had.of_group(0) >= 40);
    CHECK(had.of_group(1) >= 40);
  }
}

TEST_CASE("parallel loops: long elements behind many short ones are dealt, and a stop is heard among them") {
  constexpr int quick = 20'000;
  constexpr int slow = 1000;
  engine e(small_profile(4));
  shares had(e);
  std::stop_source stop;
  const auto body = [&](int i) {
    if (i >= quick) had.take(1ms);
  };
  sync_wait(e, [&] { return parallel_for(0, quick + slow, body); });
  CHECK(had.total() == slow);
  CHECK(had.largest() <= slow * 3 / 4);

  const auto stopped_early = [&]() -> task<bool> {
    co_return co_await parallel_for(0, quick + slow, body, stop.get_token());
  };
  auto whole = e.run(stopped_early());
  while (had.total() < slow + 4) std::this_thread::sleep_for(1ms);
  stop.request_stop();
  CHECK(!whole.get());
  CHECK(had.total() < 2 * slow);
}

TEST_CASE("loop pace: it follows what elements took") {
  detail::loop_pace pace;
  CHECK(pace.elements() == 1);
  for (int i = 0; i < 30; ++i) pace.took(pace.elements(), 1000);
  CHECK(pace.elements() > 1'000'000'000);
  pace.took(4000, 4000);
  CHECK(pace.elements() == 10'000);
  pace.took(6400, 1'000'000'000); // a 64th at least
  CHECK(pace.elements() == 100);
  pace.took(1, 50'000'000);
  CHECK(pace.elements() == 1);
}

TEST_CASE(
    "loop stride: it begins with one element, and later does half of what is left, or what takes no time") {
  detail::loop_pace pace;
  pace.took(4000, 4000); // 10,000
  detail::loop_stride stride(300);
  CHECK(stride.next(100'000, pace) == 1);
  stride.took(1, 100);
  CHECK(stride.next(100'000, pace) == 8);
  stride.took(4000, 4000);
  CHECK(stride.next(200, pace) == 200);
  CHECK(stride.next(400, pace) == 250);
  CHECK(stride.next(800, pace) == 400);
  CHECK(stride.next(2000, pace) == 1000);
  CHECK(stride.next(100'000, pace) == 10'000);
  stride.took(1, 1'000'000);
  CHECK(stride.next(1, pace) == 1);
  CHECK(stride.next(4, pace) == 2);
  detail::loop_stride of_few(2); // of few elements each may be a long one
  of_few.took(40, 40);
  CHECK(of_few.next(40, pace) == 20);
  CHECK(of_few.next(3, pace) == 2);
}
