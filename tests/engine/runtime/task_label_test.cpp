// What a task is called, and for which request it works: where both are seen.

#include "fire_and_forget.hpp"
#include "peeking.hpp"
#include "small_engine.hpp"

#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/parallel_for.hpp>
#include <corewise/engine/sync_wait.hpp>
#include <corewise/engine/this_task.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

constexpr trace_id request{0x4bf92f3577b34da6, 0xa3ce929d0e0e4736};
constexpr const char* request_text = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr hint labelled{.name = "render page", .id = request};

std::string label_here() {
  const char* const name = this_task::name();
  return (name != nullptr ? name : "-") +
         (this_task::id() ? ' ' + to_string(this_task::id()) : std::string());
}
const std::string whole_label = std::string("render page ") + request_text;

/// Returns the first dump that shows a labelled task, and the seat that runs it. The next dump may show that
/// seat asleep: a task that waits for a scope's calls has lent it.
std::pair<engine_dump, seat_dump> busy_seat(engine& e, gate& held) {
  held.wait_for(1);
  for (;;) {
    const engine_dump all = e.dump();
    for (const seat_dump& s : all.seats)
      if (s.state == seat_state::running && !s.task_name.empty()) return {all, s};
  }
}

task<> hold_in_place(gate& held) {
  held.pass();
  co_return;
}
task<int> hold_later(gate& held) {
  co_await yield();
  held.pass();
  co_return 1;
}
task<> does_nothing() { co_return; }

struct holds {
  gate* at;
  void operator()() const { at->pass(); }
};

} // namespace

TEST_CASE("trace_id: 32 hexadecimal digits, as in a traceparent header") {
  CHECK(to_string(request) == request_text);
  CHECK(parse_trace_id(request_text) == request);
  CHECK(to_string(trace_id{0, 1}) == "00000000000000000000000000000001");
  CHECK(parse_trace_id(to_string(trace_id{~0ULL, 9})) == trace_id{~0ULL, 9});
  for (const char* wrong : {"", "4bf9", "4BF92F3577B34DA6A3CE929D0E0E4736",
                            "4bf92f3577b34da6a3ce929d0e0e473g", "4bf92f3577b34da6a3ce929d0e0e47360"})
    CHECK(!parse_trace_id(wrong));
  CHECK(!trace_id{});
  CHECK(trace_id{0, 1});
}

TEST_CASE("label: a task has the name and the id of its hint, in each way to submit it") {
  engine e(small_profile(2));
  std::string seen;
  const auto look = [&] { seen = label_here(); };
  const auto coroutine = [](std::string& out) -> task<> {
    out = label_here();
    co_await yield();
    out += '/' + label_here();
  };
  for (const hint& more : {labelled, hint{.deadline = from_now(1h), .name = "render page", .id = request},
                           hint{.run_as = task_class::latency, .name = "render page", .id = request}}) {
    REQUIRE(e.submit(look, more) == submit_result::accepted);
    e.drain();
    CHECK(std::exchange(seen, {}) == whole_label);
    REQUIRE(e.submit(look, more, [] {}) == submit_result::accepted);
    e.drain();
    CHECK(std::exchange(seen, {}) == whole_label);
    REQUIRE(e.try_submit(look, more) == submit_result::accepted);
    e.drain();
    CHECK(std::exchange(seen, {}) == whole_label);
    REQUIRE(e.submit_or(look, [](auto&&, submit_result) {}, more) == submit_result::accepted);
    e.drain();
    CHECK(std::exchange(seen, {}) == whole_label);
    REQUIRE(e.submit(coroutine(seen), more) == submit_result::accepted);
    e.drain();
    CHECK(std::exchange(seen, {}) == whole_label + '/' + whole_label);
    CHECK(e.run([] { return label_here(); }, more).get() == whole_label);
    e.run(coroutine(seen), more).get();
    CHECK(std::exchange(seen, {}) == whole_label + '/' + whole_label);
  }
  CHECK(e.run([] { return label_here(); }).get() == "-");
  CHECK(e.run([] { return label_here(); }, {.name = "only"}).get() == "only");
  CHECK(e.run([] { return label_here(); }, {.id = request}).get() == std::string("- ") + request_text);
  CHECK(label_here() == "-");
  e.drain();
  CHECK(e.metrics().in_flight() == 0);
}

TEST_CASE("label: a refused task gives its callable back; futures of dropped and late tasks say why") {
  profile p = small_profile(1);
  p.limits.in_flight = 1;
  p.limits.on_full = full_action::reject;
  gate held;
  engine e(p);
  REQUIRE(e.submit(holds{&held}) == submit_result::accepted);
  for (const hint& wish : {labelled, hint{.deadline = from_now(1h), .name = "render page"}}) {
    std::vector<int> back;
    auto owner = [data = std::vector<int>{1, 2, 3}]() mutable { data.clear(); };
    const auto keep = [&](auto&& f, submit_result) {
      auto mine = std::forward<decltype(f)>(f);
      back.assign(3, 1);
      mine();
    };
    CHECK(e.submit_or(owner, keep, wish) == submit_result::full);
    CHECK(back.size() == 3);
    CHECK_THROWS_AS(e.run([] { return 1; }, wish).get(), not_run);
    CHECK_THROWS_AS(e.run(does_nothing(), wish).get(), not_run);
  }
  held.open();
  e.drain();
  const hint late{.deadline = std::chrono::steady_clock::now(), .name = "render page"};
  CHECK_THROWS_AS(e.run([] { return 1; }, late).get(), deadline_expired);
  e.drain();
  CHECK_THROWS_AS(e.run(does_nothing(), late).get(), deadline_expired);
}

TEST_CASE("label: the dump shows the label and the kind of closures, coroutines, and their children") {
  if (skipped_without_peeking()) return;
  const auto shown = [](const auto& begin) {
    gate held;
    engine e(small_profile(2));
    begin(e, held);
    const auto [all, s] = busy_seat(e, held);
    const auto json = nlohmann::json::parse(all.to_json());
    CHECK(json["seats"][s.worker.value]["task_name"] == "render page");
    CHECK(json["seats"][s.worker.value]["task_id"] == request_text);
    CHECK(all.to_text().find(s.task_kind + " (render page, " + request_text + ")") != std::string::npos);
    held.open();
    e.drain();
    CHECK(s.task_name == "render page");
    CHECK(s.task_id == request);
    return s.task_kind;
  };
  CHECK(shown([](engine& e, gate& held) {
          static_cast<void>(e.submit(holds{&held}, labelled));
        }).ends_with("holds"));
  CHECK(shown([](engine& e, gate& held) {
          static_cast<void>(e.run(holds{&held}, labelled));
        }).ends_with("holds"));
  CHECK(shown([](engine& e, gate& held) {
          static_cast<void>(e.submit(hold_in_place(held), labelled));
        }).find("hold_in_place") != std::string::npos);
  CHECK(shown([](engine& e, gate& held) {
          static_cast<void>(e.run(hold_later(held), labelled));
        }).find("hold_later") != std::string::npos);
  CHECK(shown([](engine& e, gate& held) {
          static_cast<void>(e.submit(
              [](gate& at) -> task<> { co_await when_all(hold_later(at), does_nothing()); }(held), labelled));
        }).find("hold_later") != std::string::npos);
  CHECK(shown([](engine& e, gate& held) {
          static_cast<void>(e.submit(
              [&held] {
                blocking_scope s;
                s.fork(holds{&held});
                s.wait();
              },
              labelled));
        }) != "");
  CHECK(shown([](engine& e, gate& held) {
          static_cast<void>(e.submit(
              [](gate& at) -> task<> {
                std::vector<int> numbers(1);
                co_await parallel_for(numbers, [&](int&) { at.pass(); });
              }(held),
              labelled));
        }) != "");
}

TEST_CASE("label: a coroutine without a label is known by its function") {
  if (skipped_without_peeking()) return;
  const auto shown = [](const auto& begin) {
    gate held;
    engine e(small_profile(1));
    begin(e, held);
    held.wait_for(1);
    std::string kind = e.dump().seats[0].task_kind;
    CHECK(e.dump().seats[0].task_name.empty());
    held.open();
    e.drain();
    return kind;
  };
  CHECK(shown([](engine& e, gate& held) {
          static_cast<void>(e.submit(hold_in_place(held)));
        }).find("hold_in_place") != std::string::npos);
  CHECK(shown([](engine& e, gate& held) { static_cast<void>(e.run(hold_later(held))); }).find("hold_later") !=
        std::string::npos);
  CHECK(shown([](engine& e, gate& held) {
          static_cast<void>(e.submit([](gate& at) -> task<> {
            at.pass();
            co_return;
          }(held)));
        }).find("operator()(gate&) const") != std::string::npos);
}

TEST_CASE("label: reports of stuck workers and of shutdowns, the log and the hooks have it") {
  if (skipped_without_peeking()) return;
  gate held;
  std::mutex mutex;
  std::vector<std::string> records;
  std::vector<std::string> failures;
  engine_hooks hooks;
  hooks.on_log_record = [&](const log_record& r) {
    const std::scoped_lock lock(mutex);
    records.push_back(std::string(to_string(r.code)) + ' ' + std::string(r.task_name) + ' ' +
                      to_string(r.task_id));
    if (r.code == log_code::stuck_worker) CHECK(r.text.find("(render page, ") != std::string::npos);
  };
  hooks.on_exception = [&](const std::exception_ptr&) {
    const std::scoped_lock lock(mutex);
    failures.push_back(label_here());
  };
  profile p = small_profile(2);
  p.blocking.stuck_after = 500ms; // on a busy machine the others take some time as well
  p.on_exception = exception_action::report;
  engine e(p, hooks);
  const auto count = [&](const auto& list) {
    const std::scoped_lock lock(mutex);
    return list.size();
  };
  REQUIRE(e.submit([] { throw std::runtime_error("x"); }, labelled) == submit_result::accepted);
  REQUIRE(e.submit(
              []() -> task<> {
                co_await yield();
                throw std::runtime_error("x");
              }(),
              labelled) == submit_result::accepted);
  while (count(records) < 2) std::this_thread::yield();
  CHECK(failures == std::vector<std::string>{whole_label, whole_label});
  REQUIRE(e.submit(holds{&held}, labelled) == submit_result::accepted);
  while (count(records) < 3) std::this_thread::yield();
  const shutdown_report report = e.shutdown(0ms);
  REQUIRE(report.running.size() == 1);
  CHECK(report.running[0].task_name == "render page");
  CHECK(report.running[0].task_id == request);
  CHECK(report.running[0].task_kind.ends_with("holds"));
  held.open();
  e.drain();
  const std::scoped_lock lock(mutex);
  CHECK(records[0] == std::string("task_failed ") + whole_label);
  CHECK(records[1] == std::string("task_failed ") + whole_label);
  CHECK(records[2] == std::string("stuck_worker ") + whole_label);
}

TEST_CASE("label: several threads dump while labelled tasks come and go") {
  engine e(small_profile(8));
  std::atomic<bool> over{false};
  std::vector<std::thread> readers;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 2; ++i)
    readers.emplace_back([&] {
      while (!over)
        for (const seat_dump& s : e.dump().seats)
          if (!s.task_name.empty() && s.task_name != "render page") wrong.fetch_add(1);
    });
  for (int i = 0; i < 2'000; ++i) {
    static_cast<void>(e.submit([] {}, labelled));
    static_cast<void>(
        e.submit([]() -> task<> { co_await when_all(does_nothing(), does_nothing()); }(), labelled));
  }
  e.drain();
  over = true;
  for (std::thread& t : readers) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("label: a plain task that has one may wait like any other, and what it begins belongs to no task") {
  engine e(small_profile(2));
  event opened(true);
  event until;
  std::string inside;
  bool own_root = true;
  const auto begins = [](event& at) -> fire_and_forget { co_await at.wait(); };
  const auto waits = [&] {
    sync_wait(opened.wait());
    own_root = detail::this_execution.root != nullptr;
    inside = label_here();
    begins(until);
  };
  e.run(waits, labelled).get();
  CHECK_FALSE(own_root);
  CHECK(inside == whole_label);
  e.drain();
  until.set();
}
