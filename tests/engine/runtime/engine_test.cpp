#include "small_engine.hpp"

#include <doctest/doctest.h>

#include <latch>
#include <thread>

using namespace corewise;

TEST_CASE("engine: an empty profile works on any machine, and every task runs exactly once") {
  engine e;
  std::atomic<int> runs{0};
  for (int i = 0; i < 1000; ++i) CHECK(e.submit([&] { runs.fetch_add(1); }) == submit_result::accepted);
  e.drain();
  CHECK(runs == 1000);
  CHECK(e.metrics().in_flight() == 0);
  CHECK(e.metrics().finished == 1000);
}

TEST_CASE("engine: tasks submit tasks, from many threads, with more workers than cores") {
  engine e(small_profile(16));
  constexpr int threads = 4;
  constexpr int roots = 500;
  std::atomic<int> runs{0};
  std::vector<std::thread> submitters;
  for (int t = 0; t < threads; ++t)
    submitters.emplace_back([&] {
      for (int i = 0; i < roots; ++i)
        CHECK(e.submit([&] {
          runs.fetch_add(1);
          for (int k = 0; k < 3; ++k)
            if (e.submit([&] { runs.fetch_add(1); }) != submit_result::accepted) std::abort();
        }) == submit_result::accepted);
    });
  for (auto& t : submitters) t.join();
  e.drain();
  CHECK(runs == threads * roots * 4);
  CHECK(e.metrics().total().rescued_by_timeout == 0);
}

TEST_CASE("engine: a burst from one task overflows into the injection queue, and nothing is lost") {
  engine e(small_profile(2));
  std::atomic<int> runs{0};
  CHECK(e.submit([&] {
    for (int i = 0; i < 50'000; ++i)
      if (e.submit([&] { runs.fetch_add(1); }) != submit_result::accepted) std::abort();
  }) == submit_result::accepted);
  e.drain();
  CHECK(runs == 50'000);
}

TEST_CASE("engine: inboxes that are too small spill into the injection queue, and nothing is lost") {
  profile p = small_profile(2);
  p.queues.inbox = 16;
  p.queues.local = 16;
  engine e(p);
  std::atomic<int> runs{0};
  for (int i = 0; i < 20'000; ++i) CHECK(e.submit([&] { runs.fetch_add(1); }) == submit_result::accepted);
  e.drain();
  CHECK(runs == 20'000);
}

TEST_CASE("engine: a task that spawns its successor without end starves neither inbox nor injection queue") {
  engine e(small_profile(1));
  std::atomic<bool> stop{false};
  std::atomic<int> others{0};
  struct forever {
    engine* e;
    std::atomic<bool>* stop;
    void operator()() const {
      if (!stop->load() && e->submit(forever{e, stop}) != submit_result::accepted) std::abort();
    }
  };
  CHECK(e.submit(forever{&e, &stop}) == submit_result::accepted);
  for (int i = 0; i < 5000; ++i)
    CHECK(e.submit([&] {
      others.fetch_add(1);
      others.notify_all();
    }) == submit_result::accepted);
  for (int now = others.load(); now < 5000; now = others.load()) others.wait(now);
  stop.store(true);
  e.drain();
  CHECK(others == 5000);
}

TEST_CASE("engine: hooks see each worker start and stop once, on a thread that knows its worker") {
  std::atomic<int> started{0};
  std::atomic<int> stopped{0};
  {
    engine_hooks hooks;
    hooks.on_worker_start = [&](worker_id) { started.fetch_add(1); };
    hooks.on_worker_stop = [&](worker_id) { stopped.fetch_add(1); };
    engine e(small_profile(5), hooks);
    CHECK(started == 5);
    CHECK_FALSE(e.this_worker().has_value());
    std::optional<worker_id> seen;
    CHECK(e.submit([&] { seen = e.this_worker(); }) == submit_result::accepted);
    e.drain();
    CHECK(seen.has_value());
  }
  CHECK(stopped == 5);
}

TEST_CASE("engine: two engines in one process keep apart, also when one's tasks submit to the other") {
  engine a(small_profile(2));
  engine b(small_profile(2));
  std::atomic<int> runs{0};
  for (int i = 0; i < 200; ++i)
    CHECK(a.submit([&] {
      if (b.submit([&] { runs.fetch_add(b.this_worker() && !a.this_worker() ? 1 : 1000); }) !=
          submit_result::accepted)
        std::abort();
    }) == submit_result::accepted);
  a.drain();
  b.drain();
  CHECK(runs == 200);
  CHECK(b.metrics().finished == 200);
}

TEST_CASE("engine: a profile that contradicts itself is refused with the reasons") {
  profile p = small_profile(2);
  p.injection.batch = {.min = 9, .max = 3};
  CHECK_THROWS_AS(engine{p}, profile_error);
}

TEST_CASE("engine: threads that come and go can submit, and the books do not grow for ever") {
  engine e(small_profile(2));
  std::atomic<int> runs{0};
  for (int i = 0; i < 200; ++i)
    std::thread([&] { CHECK(e.submit([&] { runs.fetch_add(1); }) == submit_result::accepted); }).join();
  e.drain();
  CHECK(runs == 200);
  CHECK(e.metrics().submitted == 200);
}

TEST_CASE("no stealing: tasks that overflow into the engine's one queue wake a worker of another group") {
  profile p = two_package_profile(1);
  p.steal.policy = "none";
  p.dispatch.policy = "local_first";
  p.injection.scope = injection_scope::engine;
  p.queues.local = 2;
  p.queues.lifo_cap = 0;
  engine e(p);
  REQUIRE(e.groups().size() == 2);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1}); // both sleep
    std::atomic<bool> elsewhere{false};
    REQUIRE(e.submit([&] {
      for (int i = 0; i < 10; ++i) REQUIRE(e.submit([&] { elsewhere = true; }) == submit_result::accepted);
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{10};
      while (!elsewhere && std::chrono::steady_clock::now() < until) std::this_thread::yield();
      CHECK(elsewhere);
    }) == submit_result::accepted);
    e.drain();
  }
}
