#include "child_process.hpp"
#include "refused_memory.hpp"
#include "small_engine.hpp"
#include "within.hpp"

#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/live_figures.hpp>
#include <corewise/engine/load.hpp>
#include <corewise/engine/oneshot.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // the one-piece oneshot

// One allocation on a thread of the engine fails, each in turn: the engine does without, and says so.

using namespace corewise;
using namespace std::chrono_literals;
using tests::before_refusal;
using tests::spared;

namespace {

constexpr int most_allocations = 40;

/// Runs `act` once for each allocation that it makes on other threads, and refuses that one.
template <class F> void refuse_each(const F& act) {
  spared = true;
  for (int n = 1; n <= most_allocations; ++n) {
    before_refusal.store(n);
    act();
    before_refusal.store(0);
  }
}

bool has(const std::vector<std::string>& warnings, const std::string& part) {
  return std::ranges::any_of(warnings,
                             [&](const std::string& w) { return w.find(part) != std::string::npos; });
}

/// Calls `act()` again and again, and refuses another of its allocations each time, the first one first. Returns how
/// often it has thrown.
template <class F> int refused_in_turn(const F& act) {
  int thrown = 0;
  for (int n = 1; n < 100'000; ++n) {
    spared = false;
    before_refusal.store(n);
    try {
      act();
    } catch (const std::exception&) {
      ++thrown;
    }
    spared = true;
    if (before_refusal.exchange(0) > 0) break; // it has asked less often
  }
  return thrown;
}

} // namespace

TEST_CASE("no memory: an engine that cannot have a supervisor, or tie a thread, runs its tasks and warns") {
  profile p;
  p.workers.total = 2; // tied to their group
  int unwatched = 0;
  int untied = 0;
  refuse_each([&] {
    std::atomic<int> ran{0};
    engine e(p);
    for (int i = 0; i < 10; ++i) CHECK(e.submit([&] { ran.fetch_add(1); }) == submit_result::accepted);
    e.drain();
    CHECK(ran == 10);
    std::this_thread::sleep_for(1ms); // the supervisor ties itself, for which it needs no memory
    const std::vector<std::string> warnings = e.warnings();
    unwatched += has(warnings, "stuck workers are not reported");
    untied += has(warnings, "workers are not pinned");
  });
  CHECK(unwatched > 0);
  CHECK(untied > 0);
}

TEST_CASE("no memory: a task that blocks without a spare thread, or loses its worker, ends and is counted") {
  int alone = 0;
  refuse_each([&] {
    std::atomic<int> ran{0};
    engine e(small_profile(1));
    for (int i = 0; i < 3; ++i)
      CHECK(e.submit([&] {
        blocking([] { std::this_thread::sleep_for(2ms); });
        ran.fetch_add(1);
      }) == submit_result::accepted);
    e.drain();
    CHECK(ran == 3);
    CHECK(e.metrics().in_flight() == 0);
    alone += has(e.warnings(), "got no spare thread");
  });
  CHECK(alone > 0);
}

TEST_CASE("no memory: a spare thread that cannot be tied takes the seat all the same, and the engine warns") {
  profile p;
  p.workers.total = 1; // tied to its group
  int untied = 0;
  for (int n = 1; n <= most_allocations; ++n) {
    CAPTURE(n);
    spared = true;
    std::atomic<bool> ran{false};
    engine e(p);
    e.run([] {}).get(); // its worker is tied
    const auto lends = [&] {
      spared =
          true; // the worker's own allocations succeed: those of the spare thread and the supervisor are left
      before_refusal = n;
      blocking([&] { CHECK(within(10s, [&] { return ran.load(); })); });
      before_refusal = 0;
      spared = false;
    };
    CHECK(e.submit(lends) == submit_result::accepted);
    CHECK(e.submit([&] { ran = true; }) == submit_result::accepted);
    e.drain();
    CHECK(e.metrics().in_flight() == 0);
    untied += has(e.warnings(), "workers are not pinned");
  }
  CHECK(untied > 0);
}

TEST_CASE(
    "no memory: after `_Fork` calls on an engine of the parent answer without any, and without a lock") {
  const profile p = small_profile(2);
  engine e(p);
  e.drain();
  load_meter meter(e);
  timer later = e.after(1h, [] {});
  const auto calls = [&](profile& for_child) {
    ::alarm(20);
    spared = false;
    int call = 0;
    int wrong = 0; // the number of the last call that has asked for memory
    const auto check = [&](const auto& act) {
      constexpr int most = 1'000'000;
      ++call;
      before_refusal = most;
      static_cast<void>(act());
      if (before_refusal.exchange(0) != most) wrong = call;
    };
    check([&] { return e.submit([] {}); });
    check([&] { return e.try_submit([] {}); });
    check([&] { return e.submit_or([] {}, [](auto&&, submit_result) {}); });
    check([&] { return e.submit([] {}, {.deadline = std::chrono::steady_clock::now()}, [] {}); });
    check([&] { return e.submit([] {}, hint{.name = "named"}); });
    check([&] { return e.submit([] {}, hint{.daemon = true}); });
    check([&] { return e.submit([]() -> task<> { co_return; }()); });
    check([&] { return e.after(1ms, [] {}).cancel(); });
    check([&] { return e.every(1ms, [] {}).cancel(); });
    check([&] { return later.cancel(); });
    check([&] { return e.apply(std::move(for_child)).applied(); });
    check([&] { return e.refresh().has_value(); });
    check([&] { return e.drain(), 0; });
    check([&] { return e.shutdown(1s, 1s).clean(); });
    check([&] { return e.stop_token().stop_requested(); });
    check([&] { return e.metrics().in_flight(); });
    check([&] { return e.dump().in_flight; });
    check([&] { return e.health().ok(); });
    check([&] { return e.trace(1ms).events.size(); });
    check([&] { return e.warnings().size(); });
    check([&] { return meter.read().tasks_in_flight; });
    check([&] { return blocking([] { return 1; }); });
    check([&] { return e.run([] { return 1; }).wait_for(1s); });
    std::_Exit(wrong);
  };
  // Threads that do what takes locks, of which a child has no other.
  std::atomic<bool> enough{false};
  std::vector<std::thread> others;
  const auto repeat = [&](const auto& act) {
    others.emplace_back([&enough, act] {
      spared = true;
      while (!enough) act();
    });
  };
  repeat([&e] { static_cast<void>(e.after(1ms, [] {}).cancel()), static_cast<void>(e.submit([] {})); });
  repeat([&e, &p] { static_cast<void>(e.apply(p)), static_cast<void>(e.refresh()); });
  repeat([&meter] { static_cast<void>(meter.read()); });
  repeat([&e] {
    static_cast<void>(e.metrics()), static_cast<void>(e.dump()), static_cast<void>(e.warnings());
    e.drain();
  });
  for (int i = 0; i < 20; ++i) {
    CAPTURE(i);
    profile for_child = p;
    CHECK(tests::exit_status(tests::child_that([&] { calls(for_child); }, &::_Fork)) == 0);
  }
  enough = true;
  for (std::thread& t : others) t.join();
}

TEST_CASE("no memory: a task that does not return is reported once, also without memory to say which") {
  profile p = small_profile(1);
  p.blocking.stuck_after = 20ms;
  p.topology.follow.kind = follow_setting::mode::off; // a look at the host would take the refusal
  int short_reports = 0;
  spared = true;
  for (int n = 1; n <= most_allocations; ++n) {
    std::atomic<int> reports{0};
    std::atomic<bool> is_short{false};
    engine_hooks hooks;
    hooks.on_log_record = [&](const log_record& r) {
      if (r.code != log_code::stuck_worker) return;
      is_short = r.text.find("no memory for a report") != std::string_view::npos;
      ++reports;
    };
    gate held;
    engine e(p, hooks);
    e.run([] {}).get(); // the supervisor begins
    CHECK(e.submit([&] { held.pass(); }) == submit_result::accepted);
    held.wait_for(1);
    before_refusal.store(n);
    CHECK(within(10s, [&] { return reports != 0; }));
    before_refusal.store(0);
    held.open();
    e.drain();
    CHECK(reports == 1);
    short_reports += is_short ? 1 : 0;
  }
  CHECK(short_reports > 0);
}

TEST_CASE("no memory: an engine that drops tasks at its end counts each of them") {
  refuse_each([] {
    std::atomic<int> ran{0};
    gate held;
    event never;
    engine e(small_profile(1));
    const auto waits = [&]() -> task<> { co_await never.wait(); };
    CHECK(e.submit(waits()) == submit_result::accepted);
    while (e.dump().suspended.empty() && e.metrics().in_flight() != 0) std::this_thread::yield();
    CHECK(e.submit([&] {
      held.pass();
      for (int i = 0; i < 10; ++i) static_cast<void>(e.try_submit([&] { ran.fetch_add(1); }));
      std::this_thread::sleep_for(1ms);
    }) == submit_result::accepted);
    held.wait_for(1);
    held.open();
    const shutdown_report report = e.shutdown(0s);
    CHECK(report.running.empty());
    CHECK(ran + static_cast<int>(report.dropped) <= 11);
    CHECK(e.metrics().in_flight() == 0);
  });
}

TEST_CASE("no memory: a call of shutdown that gets none ends the engine, and the next one has the report") {
  int unreported = 0;
  int thrown = 0;
  for (const bool runs : {false, true}) // then the engine's end leaves what waits to the last thread
    for (int n = 1; n <= most_allocations; ++n) {
      CAPTURE(n);
      spared = true;
      gate held;
      event never;
      std::atomic<oneshot<int>*> question{nullptr}; // into whose frame another thread may write
      engine e(small_profile(2));
      const auto waits = [&](std::shared_ptr<int> /*held*/) -> task<> { co_await never.wait(); };
      const auto lives = std::make_shared<int>();
      const auto asks = [&]() -> task<> {
        oneshot<int> answer;
        question = &answer;
        static_cast<void>(co_await answer.receive());
      };
      CHECK(e.submit(waits(lives)) == submit_result::accepted);
      CHECK(e.submit(asks()) == submit_result::accepted);
      const auto suspended = [&] {
        std::uint64_t all = 0;
        for (const suspended_in& in : e.dump().suspended) all += in.coroutines;
        return all;
      };
      while (suspended() != 2) std::this_thread::yield();
      if (runs) {
        CHECK(e.submit([&] { held.pass(); }) == submit_result::accepted);
        held.wait_for(1);
      }
      spared = false;
      before_refusal = n;
      try {
        static_cast<void>(e.shutdown(0s));
      } catch (const std::bad_alloc&) {
        ++thrown;
      }
      const bool refused = before_refusal.exchange(0) == 0;
      spared = true;
      CHECK(e.health().state == health_state::ended);
      const shutdown_report report = e.shutdown(0s);
      const bool is_short = has(e.warnings(), "no memory to report");
      unreported += is_short ? 1 : 0;
      if (!is_short && refused && !runs) CHECK(report.kept.size() == 1);
      CHECK(report.dropped <= 1);
      held.open();
      while (lives.use_count() != 1) std::this_thread::yield(); // the last thread drops what waits
      if (!refused) break;
    }
  CHECK(unreported > 0);
  CHECK(thrown > 0);
}

TEST_CASE("no memory: a task that fails, or forks calls, without memory reports it and the engine goes on") {
  profile p = small_profile(2);
  p.on_exception = exception_action::report;
  engine_hooks hooks;
  hooks.log = [](std::string_view) {};
  refuse_each([&] {
    std::atomic<int> ended{0};
    engine e(p, hooks);
    for (int i = 0; i < 10; ++i)
      CHECK(e.submit([&] {
        blocking_scope s;
        for (int k = 0; k < 40; ++k) s.fork([] {});
        s.wait();
        ended.fetch_add(1);
        throw std::runtime_error(std::string(100, 'x'));
      }) == submit_result::accepted);
    e.drain();
    CHECK(ended >= 9);
    CHECK(e.metrics().in_flight() == 0);
  });
}

TEST_CASE(
    "no memory: the texts of a dump, a load, metrics and the map's figures throw, and the process goes on") {
  engine_dump d;
  d.seats.resize(3);
  d.seats[1].task_kind = d.seats[1].task_name = std::string(100, 'x');
  d.seats[1].task_id = {1, 2};
  d.suspended = {{wait_kind::event, 1}, {wait_kind::mutex, 2}};
  d.socket_waits.resize(2);
  d.socket_waits[1].peer = std::string(100, 'y');
  d.class_queues.resize(2);
  d.injection_depths = {1, 2, 3};
  const std::string whole = d.to_json();
  CHECK(refused_in_turn([&] { CHECK(d.to_json() == whole); }) > 10);
  CHECK(refused_in_turn([&] { static_cast<void>(d.to_text()); }) > 5);

  load_report load;
  load.wait_p50 = 1ms;
  load.requests.emplace();
  CHECK(refused_in_turn([&] { static_cast<void>(load.to_json()); }) > 5);
  CHECK(refused_in_turn([&] { static_cast<void>(load.to_text()); }) > 5);
  CHECK(refused_in_turn([&] { static_cast<void>(orca_json(load)); }) > 5);
  CHECK(refused_in_turn([&] { static_cast<void>(orca_text(load)); }) > 3);

  live_figures live;
  live.metrics.workers.resize(2);
  live.troubles = {std::string(100, 'z')};
  live.memory.resize(2);
  CHECK(refused_in_turn([&] { static_cast<void>(live.to_json()); }) > 10);

  metrics_snapshot metrics = live.metrics;
  metrics.engine = "one";
  metrics.io.resize(1);
  for (const metrics_detail detail : {metrics_detail::sums, metrics_detail::groups, metrics_detail::workers})
    CHECK(refused_in_turn([&] { static_cast<void>(to_json({&metrics, 1}, detail)); }) > 10);
}

TEST_CASE(
    "no memory: a constructor that finds none throws and leaves no descriptor, and a refresh does the same") {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  profile p;
  p.workers.total = 2;
  {
    const engine warm(p);
  }
  const auto before = descriptors();
  CHECK(refused_in_turn([&] { const engine e(p); }) > 100);
  {
    engine e(p);
    CHECK(refused_in_turn([&] { static_cast<void>(e.refresh()); }) > 10);
  }
  CHECK(descriptors() == before);
}
