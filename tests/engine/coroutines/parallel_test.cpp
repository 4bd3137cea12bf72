// Parallel loops: their calls, their values, and their end.

#include "parallel_loops.hpp"
#include "small_engine.hpp"

#include <corewise/engine/parallel_for.hpp>
#include <corewise/engine/parallel_reduce.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

std::vector<profile> machines() {
  return {small_profile(1), small_profile(2), small_profile(8), two_package_profile(2), hybrid_profile()};
}

/// Counts how often each element had its turn.
class visits {
 public:
  explicit visits(std::size_t size) : counts_(std::make_unique<std::atomic<int>[]>(size)), size_(size) {}
  void operator()(std::size_t i) { counts_[i].fetch_add(1, std::memory_order_relaxed); }
  std::size_t total() const {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < size_; ++i) sum += static_cast<std::size_t>(counts_[i].load());
    return sum;
  }
  bool once_each() const {
    for (std::size_t i = 0; i < size_; ++i)
      if (counts_[i].load() != 1) return false;
    return true;
  }

 private:
  std::unique_ptr<std::atomic<int>[]> counts_;
  std::size_t size_;
};

task<> visit_all(visits& seen, std::size_t size, bool slowly) {
  co_await parallel_for(std::size_t{0}, size, [&](std::size_t i) {
    if (slowly) take_a_while();
    seen(i);
  });
}

task<std::string> joined(std::size_t size, bool slowly) {
  co_return co_await parallel_reduce(
      0, size, std::string("init"),
      [slowly](std::size_t i) {
        if (slowly) take_a_while();
        return " " + std::to_string(i);
      },
      [](std::string a, const std::string& b) { return std::move(a) + b; });
}

std::string joined_serially(std::size_t size) {
  std::string all = "init";
  for (std::size_t i = 0; i < size; ++i) all += " " + std::to_string(i);
  return all;
}

} // namespace

TEST_CASE("parallel loops: each element runs once where the loop begins on a thread that has lent its seat") {
  constexpr std::size_t size = 100'000;
  visits seen(size);
  engine e(two_package_profile(1));
  const auto loop = [&]() -> task<> {
    std::atomic<bool> taken{false};
    CHECK(e.submit([&] { taken = true; }, {.worker = e.this_worker()}) == submit_result::accepted);
    blocking([&] { // until a spare thread runs the seat
      while (!taken) std::this_thread::sleep_for(100us);
    });
    CHECK(detail::this_execution.seat == nullptr);
    co_await parallel_for(std::size_t{0}, size, [&](std::size_t i) {
      const auto end = std::chrono::steady_clock::now() + 1us;
      while (std::chrono::steady_clock::now() < end) {
      }
      seen(i);
    });
  };
  e.run(loop()).get();
  CHECK(seen.total() == size);
  CHECK(seen.once_each());
}

TEST_CASE("parallel_for: the body runs once for each element, on any machine") {
  for (const profile& p : machines()) {
    engine e(p);
    for (const std::size_t size : {0U, 1U, 2U, 3U, 100U, 5000U, 100'000U}) {
      const bool slowly = size == 5000;
      CAPTURE(size);
      visits seen(size);
      sync_wait(e, visit_all(seen, size, slowly));
      CHECK(seen.once_each());
    }
    CHECK(e.shutdown(std::chrono::seconds{60}).clean());
  }
}

TEST_CASE("parallel_for: it takes whole numbers, iterators, ranges and blocks") {
  engine e(small_profile(4));
  const auto all = [&]() -> task<> {
    std::atomic<std::int64_t> sum{0};
    co_await parallel_for(-5, 5, [&](int i) { sum += i; });
    CHECK(sum == -5);
    co_await parallel_for(5, -5, [&](int) { sum = 100; }); // the range is empty
    CHECK(sum == -5);
    co_await parallel_for(std::uint8_t{250}, std::uint8_t{255}, [&](std::uint8_t i) { sum += i; });
    CHECK(sum == -5 + 250 + 251 + 252 + 253 + 254);

    std::vector<int> numbers(10'000);
    std::iota(numbers.begin(), numbers.end(), 0);
    co_await parallel_for(numbers, [](int& n) { n *= 2; });
    co_await parallel_for(numbers.begin(), numbers.end() - 1, [](int& n) { ++n; });
    const auto right = [&](std::size_t i) {
      return static_cast<std::size_t>(numbers[i]) == 2 * i + (i + 1 < numbers.size() ? 1 : 0);
    };
    for (std::size_t i = 0; i < numbers.size(); ++i) REQUIRE(right(i));

    std::atomic<std::size_t> covered{0};
    co_await parallel_for(blocked(numbers), [&](std::span<int> part) { covered += part.size(); });
    CHECK(covered == numbers.size());
    co_await parallel_for(blocked(0, numbers.size()), [&](auto part) {
      for (const std::size_t i : part) covered -= i == 0 ? 1 : 2;
    });
    CHECK(covered + numbers.size() == 1);
    bool moved = false; // a body that can only be moved
    auto body = [only = std::make_unique<int>(1), &moved](int) { moved = *only == 1; };
    co_await parallel_for(0, 1, std::move(body));
    CHECK(moved);
  };
  sync_wait(e, all());
}

TEST_CASE("parallel_for: a number below 0 beside one without a sign is an error") {
  engine e(small_profile(1));
  int called = 0;
  const auto loop = [&](auto first, auto last) {
    sync_wait(e, [&] { return parallel_for(first, last, [&](auto) { ++called; }); });
  };
  CHECK_THROWS_AS(loop(-3, std::size_t{5}), std::invalid_argument);
  CHECK_THROWS_AS(loop(0U, -1), std::invalid_argument);
  CHECK(called == 0);
  loop(0, std::size_t{5});
  loop(-3, 2);
  CHECK(called == 10);
}

TEST_CASE("parallel_reduce: it combines elements in their order, and the first value once") {
  for (const profile& p : machines()) {
    engine e(p);
    for (const std::size_t size : {0U, 1U, 2U, 1000U, 20'000U}) {
      CAPTURE(size);
      CHECK(sync_wait(e, joined(size, size == 20'000)) == joined_serially(size));
    }
  }
}

TEST_CASE("parallel_reduce: it takes ranges and blocks") {
  engine e(two_package_profile(2));
  std::vector<int> numbers(200'000);
  std::iota(numbers.begin(), numbers.end(), 1);
  const std::int64_t right = 200'000LL * 200'001 / 2 + 7;
  const auto plus = [](std::int64_t a, std::int64_t b) { return a + b; };
  const auto each = [](int n) { return std::int64_t{n}; };
  const auto part_sum = [](std::span<const int> part) {
    return std::accumulate(part.begin(), part.end(), std::int64_t{0});
  };
  const auto all = [&]() -> task<> {
    const std::int64_t a = co_await parallel_reduce(numbers, std::int64_t{7}, each, plus);
    CHECK(a == right);
    const std::int64_t b = co_await parallel_reduce(blocked(numbers), std::int64_t{7}, part_sum, plus);
    CHECK(b == right);
    const std::int64_t c =
        co_await parallel_reduce(numbers.begin(), numbers.end(), std::int64_t{7}, each, plus);
    CHECK(c == right);
    const std::optional<std::int64_t> d =
        co_await parallel_reduce(numbers, std::int64_t{7}, each, plus, std::stop_token{});
    CHECK(d == right);
  };
  sync_wait(e, all());
}

TEST_CASE("parallel_for: the first exception ends the loop, and is thrown when all its parts have stopped") {
  for (const profile& p : machines()) {
    engine e(p);
    std::atomic<int> inside{0};
    const auto loop = [&]() -> task<bool> {
      try {
        co_await parallel_for(std::uint64_t{0}, std::uint64_t{1} << 40, [&](std::uint64_t i) {
          inside.fetch_add(1);
          if (i == 3000) {
            inside.fetch_sub(1);
            throw std::runtime_error("three thousand");
          }
          inside.fetch_sub(1);
        });
      } catch (const std::runtime_error& error) {
        CHECK(inside == 0);
        co_return std::string(error.what()) == "three thousand";
      }
      co_return false;
    };
    CHECK(sync_wait(e, loop()));
    const auto summed = [&]() -> task<int> {
      co_return co_await parallel_reduce(
          0, 1000, 0, [](int i) { return i == 999 ? throw i : i; }, std::plus<>{});
    };
    CHECK_THROWS_AS(sync_wait(e, summed()), int);
  }
}

TEST_CASE("parallel_for: a stop by another task or by a timer ends it") {
  for (const profile& p : machines()) {
    engine e(p);
    for (const bool by_timer : {false, true}) {
      std::stop_source stop;
      std::atomic<std::uint64_t> count{0}; // gives the loop something to do
      const auto endless = [&]() -> task<bool> {
        if (by_timer)
          static_cast<void>(e.after(std::chrono::milliseconds{1}, [&] { stop.request_stop(); }));
        else
          CHECK(e.submit([&] { stop.request_stop(); }) == submit_result::accepted);
        const bool all = co_await parallel_for(
            std::uint64_t{0}, std::uint64_t{1} << 60, [&](std::uint64_t) { count.fetch_add(1); },
            stop.get_token());
        co_return all;
      };
      CHECK_FALSE(sync_wait(e, endless()));
      const auto sum = [&]() -> task<std::optional<int>> {
        co_return co_await parallel_reduce(0, 10, 0, std::identity{}, std::plus<>{}, stop.get_token());
      };
      CHECK_FALSE(sync_wait(e, sum()));
      e.drain(); // the task that asked for the stop may still run
    }
    const auto whole = [&]() -> task<bool> {
      co_return co_await parallel_for(0, 10, [](int) {}, std::stop_source{}.get_token());
    };
    CHECK(sync_wait(e, whole()));
  }
}

TEST_CASE("parallel_for: outside of an engine's tasks it is an error") {
  const auto alone = []() -> task<> { co_await parallel_for(0, 10, [](int) {}); };
  struct unowned {
    struct promise_type {
      std::exception_ptr error;
      unowned get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
      std::suspend_never initial_suspend() noexcept { return {}; }
      std::suspend_always final_suspend() noexcept { return {}; }
      void return_void() {}
      void unhandled_exception() { error = std::current_exception(); }
    };
    std::coroutine_handle<promise_type> frame;
  };
  const auto begin = [](task<> t) -> unowned { co_await std::move(t); };
  const unowned u = begin(alone());
  REQUIRE(u.frame.promise().error);
  CHECK_THROWS_AS(std::rethrow_exception(u.frame.promise().error), std::logic_error);
  u.frame.destroy();
}

TEST_CASE("parallel_for: loops may be nested, run beside each other, and have any class") {
  for (const profile& p : machines()) {
    engine e(p);
    for (const task_class c : {task_class::normal, task_class::latency, task_class::background}) {
      visits seen(3000);
      const auto inner = [&](std::size_t from, std::size_t to) -> task<> {
        co_await parallel_for(from, to, [&](std::size_t i) {
          take_a_while();
          seen(i);
        });
        co_await yield();
      };
      const auto outer = [&]() -> task<> {
        co_await when_all(inner(0, 1000), inner(1000, 1500), inner(1500, 3000));
      };
      e.run(outer(), {.run_as = c}).get();
      CHECK(seen.once_each());
    }
  }
}

TEST_CASE("parallel_for: a body may block, and a spare thread has its worker meanwhile") {
  engine e(two_package_profile(2));
  visits seen(64);
  const auto loop = [&]() -> task<> {
    co_await parallel_for(std::size_t{0}, std::size_t{64}, [&](std::size_t i) {
      blocking([] { std::this_thread::sleep_for(std::chrono::microseconds{500}); });
      seen(i);
    });
    co_await yield();
  };
  sync_wait(e, loop());
  CHECK(seen.once_each());
}

TEST_CASE("parallel_for: tasks that a body submits run, also on one worker while the loop goes on") {
  std::atomic<bool> ran{false};
  engine e(small_profile(1));
  const auto loop = [&]() -> task<bool> {
    std::stop_source stop;
    std::atomic<bool> submitted{false};
    co_return co_await parallel_for(
        std::uint64_t{0}, std::uint64_t{1} << 60,
        [&](std::uint64_t) {
          if (!submitted.exchange(true)) CHECK(e.submit([&] { ran = true; }) == submit_result::accepted);
          if (ran) stop.request_stop();
        },
        stop.get_token());
  };
  CHECK_FALSE(sync_wait(e, loop()));
  CHECK(ran);
}

TEST_CASE("parallel_for: a coroutine to which the first piece gives way goes on") {
  // Most tasks are short: then a yield itself takes the oldest task of the ring.
  constexpr int yielders = 8;
  for (const std::uint32_t workers : {1U, 2U}) {
    CAPTURE(workers);
    engine e(small_profile(workers));
    std::atomic<int> loops{0};
    std::atomic<int> ended{0};
    const auto yields = [](std::atomic<int>& all_loops, std::atomic<int>& all_ended) -> task<> {
      while (all_loops.load() < 20)
        for (int i = 0; i < 200; ++i) co_await yield();
      all_ended.fetch_add(1);
    };
    const auto loop_again = [](std::atomic<int>& all_loops) -> task<> {
      for (int i = 0; i < 20; ++i) {
        for (int n = 0; n < 2000; ++n) co_await yield();
        co_await parallel_for(0, 3000, [](int) { take_a_while(); });
        all_loops.fetch_add(1);
      }
    };
    for (int i = 0; i < yielders; ++i) CHECK(e.submit(yields(loops, ended)) == submit_result::accepted);
    CHECK(e.submit(loop_again(loops)) == submit_result::accepted);
    const shutdown_report left = e.shutdown(std::chrono::seconds{60});
    CHECK(left.dropped == 0);
    CHECK(left.suspended.empty());
    CHECK(ended.load() == yielders);
  }
}

TEST_CASE("parallel_for: a shutdown drops a loop that does not end, as one task") {
  for (const profile& p : machines()) {
    std::atomic<bool> begun{false};
    auto e = std::make_unique<engine>(p);
    const auto endless = [&](std::shared_ptr<int> held) -> task<> {
      const auto body = [&, held](std::uint64_t) {
        begun = true;
        begun.notify_one();
      };
      co_await parallel_for(std::uint64_t{0}, std::uint64_t{1} << 60, body);
    };
    const auto held = std::make_shared<int>();
    CHECK(e->submit(endless(held)) == submit_result::accepted);
    begun.wait(false);
    const shutdown_report report = e->shutdown(std::chrono::milliseconds{1});
    CHECK((report.dropped == 1 || !report.running.empty())); // a worker may have had no CPU for a while
    e.reset();
    while (held.use_count() != 1) std::this_thread::yield();
  }
}

TEST_CASE("parallel loops: threads run them through sync_wait, plain tasks within blocking") {
  engine e(small_profile(2));
  std::vector<int> numbers(100'000, 1);
  const auto doubles = [&] { return parallel_for(numbers, [](int& x) { x *= 2; }); };
  const auto sums = [&] { return parallel_reduce(numbers, 0, std::identity(), std::plus<>()); };
  sync_wait(e, doubles);
  CHECK(sync_wait(e, sums) == 200'000);
  CHECK(e.run([&] { return blocking([&] { return sync_wait(e, sums); }); }).get() == 200'000);
  CHECK_THROWS_AS(e.run([&] { sync_wait(e, doubles); }).get(), std::logic_error);
  const auto fails = [&] { return parallel_for(numbers, [](int) { throw std::runtime_error("no"); }); };
  CHECK_THROWS_WITH_AS(sync_wait(e, fails), "no", std::runtime_error);
  const auto told = [&] {
    std::stop_source stop;
    stop.request_stop();
    return parallel_for(numbers, [](int) {}, stop.get_token());
  };
  CHECK_FALSE(sync_wait(e, told));
}
