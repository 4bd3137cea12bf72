#include "system_engine.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE("nio: under load nothing is stolen and nothing is injected") {
  engine e(system_profile("nio", 4));
  CHECK(load_with(e, 2000, 20) == 2000 * 21);
  const metrics_snapshot m = e.metrics();
  CHECK(stolen_of(m.total()) == 0);
  CHECK(m.total().injected == 0);
  CHECK(m.injected == 0);
  CHECK(m.total().executed == m.total().placed);
}

TEST_CASE("nio: tasks that overflow a ring stay with its worker") {
  engine e(system_profile("nio", 2));
  std::atomic<int> elsewhere{0};
  const auto leaf = [&] { elsewhere += e.this_worker()->value == 1 ? 0 : 1; };
  const auto fill = [&] {
    for (int i = 0; i < 5000; ++i)
      if (e.submit(leaf, {.worker = worker_id{1}}) != submit_result::accepted) std::abort();
  };
  REQUIRE(e.submit(fill, {.worker = worker_id{1}}) == submit_result::accepted);
  e.drain();
  const metrics_snapshot m = e.metrics();
  CHECK(elsewhere == 0);
  CHECK(m.workers[1].overflowed > 0);
  CHECK(m.workers[1].executed == 5001);
  CHECK(m.workers[1].placed == 5001);
  CHECK(m.total().injected == 0);
}

TEST_CASE("nio: an inbox takes more than any bounded one, and all of its tasks count as load") {
  engine e(system_profile("nio", 1));
  gate held;
  REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
  held.wait_for(1);
  for (int i = 0; i < 70'000; ++i) REQUIRE(e.submit([] {}) == submit_result::accepted);
  CHECK(e.metrics().workers[0].load == 70'001);
  CHECK(e.metrics().injected == 0);
  held.open();
  e.drain();
  CHECK(e.metrics().workers[0].executed == 70'001);
}

TEST_CASE("nio: the number of placed tasks never falls, while tasks move from the ring into the inbox") {
  engine e(system_profile("nio", 1));
  std::atomic<bool> over{false};
  std::uint64_t submitted = 1;
  REQUIRE(e.submit([&] { // tasks that a task submits go to the ring, which overflows
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{500};
    while (std::chrono::steady_clock::now() < until)
      for (int i = 0; i < 500; ++i, ++submitted) static_cast<void>(e.submit([] {}));
    over = true;
  }) == submit_result::accepted);
  std::uint64_t last = 0;
  int falls = 0;
  while (!over) {
    const std::uint64_t placed = e.metrics().total().placed;
    falls += placed < last ? 1 : 0;
    last = placed;
  }
  CHECK(falls == 0);
  e.drain();
  CHECK(e.metrics().total().overflowed != 0);
  CHECK(e.metrics().total().placed == submitted);
}

TEST_CASE("nio: a task goes to the shortest queue of all, and on a tie to the lowest index") {
  situation s(build(one_kind(2, 4)), system_profile("nio", 1).dispatch.policy.c_str());
  s.load(0, 7, 6);
  s.boards().set_load({3}, 5);
  s.boards().set_load({5}, 3); // behind a rise: a walk that stops at the first rise would not come there
  s.boards().set_load({6}, 3);
  CHECK(s.place(s.on_cpu(0)).worker.value == 5);
  s.boards().set_load({3}, 3);
  CHECK(s.place(s.on_cpu(0)).worker.value == 3);
}

TEST_CASE("nio: a task may be sent to a worker by its index, and stays there") {
  engine e(system_profile("nio", 3));
  std::atomic<int> right{0};
  for (std::uint32_t i = 0; i < 300; ++i)
    REQUIRE(e.submit([&, i] { right += e.this_worker()->value == i % 3 ? 1 : 0; },
                     {.worker = worker_id{i % 3}}) == submit_result::accepted);
  e.drain();
  CHECK(right == 300);
}

TEST_CASE("nio: tasks that wait in the inboxes when the engine ends are destroyed") {
  const auto alive = std::make_shared<int>(0);
  std::atomic<int> ran{0};
  const auto held = std::make_shared<gate>(); // its tasks and the worker that opens it may outlive the engine
  {
    // The third worker is in no task. When it leaves, the engine has ended; then the others run no more
    // tasks.
    engine_hooks hooks;
    hooks.on_worker_stop = [held](worker_id w) {
      if (w.value == 2) held->open();
    };
    engine e(system_profile("nio", 3), hooks);
    for (std::uint32_t w = 0; w < 2; ++w)
      REQUIRE(e.submit([held] { held->pass(); }, {.worker = worker_id{w}}) == submit_result::accepted);
    held->wait_for(2);
    for (std::uint32_t i = 0; i < 1000; ++i)
      REQUIRE(e.submit([alive, &ran] { ++ran; }, {.worker = worker_id{i % 2}}) == submit_result::accepted);
    const shutdown_report report = e.shutdown(std::chrono::milliseconds{1});
    const bool all_left = report.running.empty(); // they have, unless they had no CPU for a while
    CHECK((!all_left || report.dropped == 1000));
  }
  while (alive.use_count() != 1) std::this_thread::yield(); // the last thread to leave destroys them
  CHECK(ran == 0);
}
