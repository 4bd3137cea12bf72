#include "small_engine.hpp"

#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <thread>

using namespace corewise;

namespace {

struct counts_lines {
  gate* at;
  void operator()() const { at->pass(); }
};

} // namespace

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

TEST_CASE("dump: a coroutine is named as such, and a suspended one is in flight although no worker runs it") {
  engine e(small_profile(1));
  std::atomic<bool> stop{false};
  std::atomic<bool> seen{false};
  const auto spin = [](std::atomic<bool>& until) -> task<> {
    while (!until) co_await yield();
  };
  REQUIRE(e.submit(spin(stop)) == submit_result::accepted);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (!seen && std::chrono::steady_clock::now() < until) {
    seen = e.dump().seats[0].task_kind == "coroutine";
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
