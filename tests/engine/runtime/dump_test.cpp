#include "peeking.hpp"
#include "small_engine.hpp"

#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace corewise;

namespace {

struct counts_lines {
  gate* at;
  void operator()() const { at->pass(); }
};

template <class... T> struct tuned_by {};
/// A type whose name has far more than 120 characters.
using many = tuned_by<tuned_by<std::string, std::vector<std::string>>,
                      tuned_by<std::vector<std::string>, std::string>>;

/// Returns the kind under which the dump shows a task that runs, and ends the task.
template <class Begin> std::string kind_of(const Begin& begin) {
  gate held;
  engine e(small_profile(1));
  begin(e, held);
  held.wait_for(1);
  std::string kind = e.dump().seats[0].task_kind;
  held.open();
  e.drain();
  return kind;
}

template <class Tuning> void answer_requests(engine& e, gate& held, const Tuning&) {
  REQUIRE(e.submit([&held] { held.pass(); }) == submit_result::accepted);
}

} // namespace

TEST_CASE("dump: the kind of a task is its callable's function, in 120 characters at most") {
  const std::string kind = kind_of([](engine& e, gate& held) { answer_requests(e, held, many{}); });
  CHECK(kind.size() <= 120);
  CHECK(kind.find("answer_requests") != std::string::npos);
  CHECK(kind.find("lambda") != std::string::npos);
}

TEST_CASE("dump: the kind of a task with a future, and of a later call, is the callable of the user") {
  CHECK(kind_of([](engine& e, gate& held) {
          static_cast<void>(e.run(counts_lines{&held}));
        }).ends_with("counts_lines"));
  CHECK(kind_of([](engine& e, gate& held) {
          static_cast<void>(e.after(std::chrono::milliseconds{0}, counts_lines{&held}, std::stop_token{}));
        }).ends_with("counts_lines"));
}

TEST_CASE("dump: it shows the task that a worker runs, for how long it runs, and the tasks that wait") {
  gate held;
  engine e(small_profile(2));
  REQUIRE(e.submit(counts_lines{&held}, {.worker = worker_id{1}}) == submit_result::accepted);
  held.wait_for(1);
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  engine_dump d = e.dump();
  for (int i = 0; i < 1000 && d.seats[0].state != seat_state::parked; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    d = e.dump();
  }
  REQUIRE(d.seats.size() == 2);
  // The other worker may have stolen the task.
  const std::size_t runner = d.seats[1].state == seat_state::running ? 1 : 0;
  const seat_dump& busy = d.seats[runner];
  CHECK(busy.state == seat_state::running);
  CHECK(busy.load.running == 1);
  CHECK(busy.task_kind.find("counts_lines") != std::string::npos);
  REQUIRE(busy.task_age);
  CHECK(*busy.task_age >= std::chrono::milliseconds{20});
  CHECK(d.in_flight == 1);
  const seat_dump& idle = d.seats[1 - runner];
  CHECK(idle.task_kind.empty());
  CHECK(idle.load.total() == 0);
  CHECK(d.to_text().find("counts_lines") != std::string::npos);
  const auto json = nlohmann::json::parse(d.to_json());
  CHECK(json["seats"].size() == 2);
  CHECK(json["seats"][runner]["state"] == "running");
  CHECK(json["seats"][runner]["task_age_us"] >= 20'000);
  CHECK(json["seats"][1 - runner]["task_kind"].is_null());
  held.open();
  e.drain();
  CHECK(e.dump().in_flight == 0);
}

TEST_CASE("dump: a coroutine is named by its function, and a suspended one is in flight although no worker "
          "runs it") {
  if (skipped_without_peeking()) return;
  engine e(small_profile(1));
  std::atomic<bool> stop{false};
  std::atomic<bool> seen{false};
  const auto spin = [](std::atomic<bool>& until) -> task<> {
    while (!until) co_await yield();
  };
  REQUIRE(e.submit(spin(stop)) == submit_result::accepted);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (!seen && std::chrono::steady_clock::now() < until) {
    seen = e.dump().seats[0].task_kind.find("operator()(std::atomic<bool>&) const") != std::string::npos;
    std::this_thread::yield();
  }
  CHECK(seen);
  CHECK(e.dump().in_flight == 1);
  stop = true;
  e.drain();
}

TEST_CASE("dump: several threads may dump a live engine") {
  engine e(small_profile(8));
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i)
    readers.emplace_back([&] {
      while (!stop) {
        const engine_dump d = e.dump();
        CHECK(d.seats.size() == 8);
        static_cast<void>(d.to_json());
      }
    });
  for (int i = 0; i < 20'000; ++i) REQUIRE(e.submit([] {}) == submit_result::accepted);
  e.drain();
  stop = true;
  for (auto& r : readers) r.join();
}
