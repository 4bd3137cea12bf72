#include "held_engine.hpp"
#include "idle/driver_watch.hpp"
#include "small_engine.hpp"
#include "within.hpp"

#include <corewise/engine/detail/driving.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

// A driver whose events are made by the test.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// Each event resumes the coroutine that waits for it.
class made_driver final : public driver {
 public:
  /// Awaits the next event.
  struct next {
    made_driver& of;
    detail::resumption place{};

    bool await_ready() const noexcept { return false; }
    template <class Promise> void await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
      place.suspend(suspended);
      const std::scoped_lock lock(of.mutex_);
      of.waiting_.push_back(&place);
    }
    void await_resume() const noexcept {}
  };

  /// Makes an event for each coroutine that waits.
  void happen() {
    const std::scoped_lock lock(mutex_);
    ready_.insert(ready_.end(), waiting_.begin(), waiting_.end());
    waiting_.clear();
    changed_.notify_all();
  }
  std::size_t waiting() {
    const std::scoped_lock lock(mutex_);
    return waiting_.size();
  }
  bool slept_in() const { return sleeper; }

  std::vector<socket_wait> waits(std::size_t /*most*/) const override { return {}; }
  std::size_t poll(std::size_t most, ready_tasks& found) noexcept override {
    CHECK(holders.fetch_add(1) == 0);
    CHECK(most == profile().io.batch);
    const std::size_t events = take(most, found);
    ++polls;
    if (during_poll) during_poll();
    std::this_thread::sleep_for(std::chrono::microseconds{poll_us.load()});
    holders.fetch_sub(1);
    return events;
  }
  void sleep(std::optional<std::chrono::nanoseconds> time, ready_tasks& found) noexcept override {
    CHECK(holders.fetch_add(1) == 0);
    sleeper = true;
    {
      std::unique_lock lock(mutex_);
      const auto due = [this] { return interrupted_ || !ready_.empty(); };
      if (time)
        changed_.wait_for(lock, *time, due);
      else
        changed_.wait(lock, due);
      interrupted_ = false;
    }
    take(1, found);
    sleeper = false;
    holders.fetch_sub(1);
  }
  void interrupt() noexcept override {
    const std::scoped_lock lock(mutex_);
    interrupted_ = true;
    changed_.notify_all();
  }
  bool outstanding() const noexcept override { return !unwatched; }
  driver_counts count() const noexcept override {
    return {.polls = static_cast<std::uint64_t>(polls.load()), .accepted = accepted};
  }
  void end() noexcept override {
    ++ends;
    for (detail::resumption* place : waiting_) place->wake();
    waiting_.clear();
  }

  std::atomic<int> holders{0};
  std::atomic<int> polls{0};
  std::atomic<int> poll_us{0}; // how long a look takes
  std::atomic<bool> sleeper{false};
  std::atomic<int> ends{0};
  std::uint64_t accepted = 0;
  bool unwatched = false; // no lookout wakes a worker for it
  std::function<void()> during_poll;

 private:
  std::size_t take(std::size_t most, ready_tasks& found) {
    const std::scoped_lock lock(mutex_);
    std::size_t n = 0;
    for (; n < most && !ready_.empty(); ++n) {
      found.resume(*ready_.front());
      ready_.erase(ready_.begin());
    }
    return n;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<detail::resumption*> waiting_;
  std::vector<detail::resumption*> ready_;
  bool interrupted_ = false;
};

std::vector<std::shared_ptr<driver>> for_each_group(engine& e, const std::shared_ptr<made_driver>& first) {
  std::vector<std::shared_ptr<driver>> all{first};
  for (std::size_t g = 1; g < e.groups().size(); ++g) all.push_back(std::make_shared<made_driver>());
  return all;
}

} // namespace

TEST_CASE("driver: one of the sleepers lies in it, and an event resumes the coroutine that waits") {
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    engine e(small_profile(workers));
    const auto made = std::make_shared<made_driver>();
    REQUIRE(detail::driving::attach(e, for_each_group(e, made)));
    CHECK_FALSE(detail::driving::attach(e, for_each_group(e, made)));
    CHECK(within(5s, [&] { return made->slept_in(); }));
    std::atomic<int> gone_on{0};
    for (int i = 0; i < 100; ++i) {
      auto f = e.run([](made_driver& d, std::atomic<int>& n) -> task<> {
        co_await made_driver::next{d};
        ++n;
      }(*made, gone_on));
      CHECK(within(5s, [&] { return made->waiting() == 1; }));
      made->happen();
      f.get();
    }
    CHECK(gone_on == 100);
    e.shutdown(5s);
    CHECK(made->ends == 1);
  }
}

TEST_CASE("driver: tasks wake the worker that sleeps in it") {
  engine e(small_profile(1));
  const auto made = std::make_shared<made_driver>();
  REQUIRE(detail::driving::attach(e, for_each_group(e, made)));
  for (int i = 0; i < 1000; ++i) {
    if (i % 2 == 0) CHECK(within(5s, [&] { return made->slept_in(); }));
    e.run([] {}).get();
  }
}

TEST_CASE("driver: a timer ends the sleep of the worker that sleeps in it") {
  engine e(small_profile(1));
  const auto made = std::make_shared<made_driver>();
  REQUIRE(detail::driving::attach(e, for_each_group(e, made)));
  for (int i = 0; i < 20; ++i) e.run([]() -> task<> { co_await sleep_for(2ms); }()).get();
}

TEST_CASE("driver: it is polled while tasks yield for ever, and while one worker is in a long task") {
  for (const std::uint32_t workers : {1U, 2U}) {
    engine e(small_profile(workers));
    const auto made = std::make_shared<made_driver>();
    REQUIRE(detail::driving::attach(e, for_each_group(e, made)));
    std::stop_source stop;
    std::vector<future<void>> yielders;
    if (workers == 1)
      for (int i = 0; i < 20; ++i)
        yielders.push_back(e.run([](std::stop_token s) -> task<> {
          while (!s.stop_requested()) co_await yield();
        }(stop.get_token())));
    else
      yielders.push_back(e.run([s = stop.get_token()] {
        while (!s.stop_requested()) {
        }
      }));
    for (int i = 0; i < 20; ++i) {
      auto f = e.run([](made_driver& d) -> task<> { co_await made_driver::next{d}; }(*made));
      CHECK(within(5s, [&] { return made->waiting() == 1; }));
      made->happen();
      f.get();
    }
    stop.request_stop();
    for (auto& y : yielders) y.get();
  }
}

TEST_CASE("driver: an operation that begins outside wakes a sleeper while the driver's last sleeper is in a "
          "long task") {
  for (const bool visited : {false, true}) {
    CAPTURE(visited);
    const auto made = std::make_shared<made_driver>();
    made->unwatched = true;
    tests::held_engine e(tests::packages(2, 2));
    REQUIRE(detail::driving::attach(e.get(), for_each_group(e.get(), made)));
    REQUIRE(tests::in_the_end([&] { return made->slept_in() && e.parked(0) && e.parked(1); }));
    e.hold(1);
    e.submit_to(0, [] {}); // it lies down again, in the driver
    REQUIRE(tests::in_the_end([&] { return made->slept_in() && e.parked(0); }));
    e.release(1);
    REQUIRE(tests::in_the_end([&] { return e.parked(1); }));
    e.hold(0);
    REQUIRE_FALSE(made->slept_in());
    detail::idle_workers& idle = e.inside().idle();
    const auto begin = [&] { idle.operation_begun(group_id{0}); };
    ready_tasks found;
    made->during_poll = begin;
    if (visited)
      static_cast<void>(idle.poll(worker_id{2}, group_id{0}, profile().io.batch, found));
    else
      begin();
    CHECK(within(5s, [&] { return made->slept_in(); }));
    CHECK(e.parked(1));
    made->during_poll = {};
  }
}

TEST_CASE("driver: the end of the engine drops coroutines that wait for events") {
  const auto made = std::make_shared<made_driver>();
  {
    engine e(small_profile(2));
    REQUIRE(detail::driving::attach(e, for_each_group(e, made)));
    auto f = e.run([](made_driver& d) -> task<> { co_await made_driver::next{d}; }(*made));
    CHECK(within(5s, [&] { return made->waiting() == 1; }));
    const shutdown_report report = e.shutdown(0s);
    CHECK(report.dropped == 1);
    CHECK_THROWS_AS(f.get(), not_run);
  }
  CHECK(made->ends == 1);
}

TEST_CASE("driver: events while workers retire and come back") {
  engine e(small_profile(4));
  const auto made = std::make_shared<made_driver>();
  REQUIRE(detail::driving::attach(e, for_each_group(e, made)));
  for (int i = 0; i < 60; ++i) {
    profile p = small_profile(i % 2 == 0 ? 1 : 4);
    REQUIRE(e.apply(p).applied());
    auto f = e.run([](made_driver& d) -> task<> { co_await made_driver::next{d}; }(*made));
    CHECK(within(5s, [&] { return made->waiting() == 1; }));
    made->happen();
    f.get();
  }
}

TEST_CASE(
    "driver: where all workers of its group have retired, one of these still sleeps there after a visit") {
  engine e(two_package_profile(1));
  const auto first = std::make_shared<made_driver>();
  const auto second = std::make_shared<made_driver>();
  REQUIRE(detail::driving::attach(e, {first, second}));
  profile p = two_package_profile(1);
  p.workers.per_group.reset();
  p.workers.total = 1;
  REQUIRE(e.apply(p).applied());
  REQUIRE(within(60s, [&] { return second->slept_in(); }));
  second->poll_us = 300;
  for (int i = 0; i < 300; ++i) {
    auto f = e.run([](made_driver& d) -> task<> { co_await made_driver::next{d}; }(*second));
    REQUIRE(within(60s, [&] { return second->waiting() == 1; }));
    std::this_thread::sleep_for(i % 7 * 100us);
    second->happen();
    REQUIRE(f.wait_for(20s)); // nothing else wakes a worker
  }
}

TEST_CASE("driver: metrics have its numbers, and how long what it found waited for workers of which group") {
  constexpr int events = 3200; // 50 samples
  profile p = two_package_profile(1);
  p.steal.policy = "none";
  engine e(p);
  CHECK(e.metrics().io.empty());
  const auto first = std::make_shared<made_driver>();
  const auto second = std::make_shared<made_driver>();
  second->accepted = 3;
  REQUIRE(detail::driving::attach(e, {first, second}));
  const auto await_events = [&] {
    std::vector<future<void>> waiting;
    for (int i = 0; i < events; ++i)
      waiting.push_back(e.run([](made_driver& d) -> task<> { co_await made_driver::next{d}; }(*second),
                              {.group = group_id{1}}));
    REQUIRE(within(20s, [&] { return second->waiting() == events; }));
    second->happen();
    for (auto& f : waiting) f.get();
  };
  await_events();
  metrics_snapshot m = e.metrics();
  REQUIRE(m.io.size() == 2);
  CHECK(m.io[1].group == group_id{1});
  CHECK(m.io[0].driver.accepted == 0);
  CHECK(m.io[1].driver.accepted == 3);
  CHECK(m.io[1].driver.polls > 0);
  CHECK(m.io[0].ready_waited.count() == 0);
  CHECK(m.io[1].ready_waited.count() > 20);
  CHECK(m.io[1].ready_waited.count() < m.total().waited[0].count());

  p.workers.per_group.reset();
  p.workers.total = 1; // the worker of the second group retires, and sends on what its driver finds
  REQUIRE(e.apply(p).applied());
  REQUIRE(within(60s, [&] { return second->slept_in(); }));
  await_events();
  CHECK(e.metrics().io[0].ready_waited.count() > 20);
}

TEST_CASE("driver: what is ready runs before the tasks that wait already") {
  std::atomic<int> ran{0};
  std::atomic<int> before{-1};
  const auto made = std::make_shared<made_driver>();
  engine e(small_profile(1));
  REQUIRE(detail::driving::attach(e, for_each_group(e, made)));
  auto waits = e.run([](made_driver& d, const std::atomic<int>& others, std::atomic<int>& seen) -> task<> {
    co_await made_driver::next{d};
    seen = others.load();
  }(*made, ran, before));
  CHECK(within(5s, [&] { return made->waiting() == 1; }));
  e.run([&] {
     for (int i = 0; i < 100; ++i)
       CHECK(e.submit([&] {
         const auto until = std::chrono::steady_clock::now() + 100us;
         while (std::chrono::steady_clock::now() < until) {
         }
         ++ran;
       }) == submit_result::accepted);
     made->happen();
   }).get();
  waits.get();
  CHECK(before < 50); // it is found at the end of a tick, after 5 tasks or so
  e.drain();
  CHECK(ran == 100);
}

TEST_CASE("driver watch: it wakes a sleeper of the group after its patience, or one elsewhere after a longer "
          "time") {
  detail::driver_watch watch(2);
  using sight = detail::driver_watch::sight;
  const detail::monotonic::time_point begin{1h};
  std::optional<sight> first = sight{true, 7, true};
  std::vector<std::pair<std::uint32_t, bool>> woken;
  const auto look = [&](std::chrono::nanoseconds at, bool sleepers = true) {
    return watch.look(
        begin + at, sleepers, [&](std::uint32_t g) { return g == 0 ? first : std::nullopt; },
        [&](std::uint32_t g, bool far) { woken.emplace_back(g, far); });
  };
  CHECK(look(0us) == detail::driver_watch::patience);
  look(49us);
  CHECK(woken.empty());
  look(50us);
  CHECK(woken == std::vector<std::pair<std::uint32_t, bool>>{{0, false}});
  first->times_held = 8; // a thread has looked there
  look(100us);
  look(149us);
  CHECK(woken.size() == 1);
  first->has_sleeper = false;
  CHECK(look(300us) == detail::driver_watch::far_patience);
  CHECK(woken.size() == 1);
  look(600us);
  CHECK(woken.size() == 2);
  CHECK(woken.back() == std::pair<std::uint32_t, bool>{0, true});
  look(10ms, false); // no worker sleeps
  CHECK(woken.size() == 2);
  first->neglected = false;
  look(20ms);
  CHECK(woken.size() == 2);
  first.reset(); // no event may come: the time before counts no more
  CHECK(look(30ms) == detail::driver_watch::far_patience); // an operation may begin unseen
  first = sight{true, 8, true};
  look(30ms + 10us);
  CHECK(woken.size() == 2);
}
