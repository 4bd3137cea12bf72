#include "queues/local_queue.hpp"
#include "system_engine.hpp"

#include <doctest/doctest.h>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE("zio: a placement looks at two workers, never the same twice, and the lighter one gets the task") {
  situation s(build(one_kind(2, 4)), system_profile("zio", 1).dispatch.policy.c_str());
  for (std::uint32_t w = 0; w < 8; ++w) s.boards().set_load({w}, worker_load{w % 4, w / 4, 1});
  for (std::uint64_t seed = 1; seed < 2000; ++seed) {
    placement_rng rng(seed);
    placement_cursor cursor;
    const auto looked_at = s.rule().consider(s.view(), s.on_cpu(0), {}, rng, cursor);
    REQUIRE(looked_at.size() == 2);
    REQUIRE(looked_at[0].lightest != looked_at[1].lightest);
    for (const considered& c : looked_at) { // score: the queue, and one more if the slot is taken
      const std::uint32_t w = c.lightest.value;
      REQUIRE(c.score == w % 4 + w / 4);
    }
    const std::size_t lighter = looked_at[1].score < looked_at[0].score ? 1 : 0; // ties to the first
    REQUIRE(s.rule().place(s.view(), s.on_cpu(0), {}, rng, cursor).worker == looked_at[lighter].lightest);
  }
}

TEST_CASE("zio: half of a full ring of 256 goes to the one global queue") {
  profile p = system_profile("zio", 2);
  p.queues.lifo_age.reset(); // what is in the slot stays there, however long the test takes
  CHECK(p.queues.local == 256);
  engine e(p);
  gate held;
  gate filled;
  worker_id filler;
  const auto hold = [&] { held.pass(); };
  const auto fill = [&] {
    filler = *e.this_worker();
    for (int i = 0; i < 1 + 256 + 1; ++i) // into the slot, into the ring, and one too many
      if (e.submit([] {}, {.worker = filler}) != submit_result::accepted) std::abort();
    filled.pass();
  };
  REQUIRE(e.submit(hold) == submit_result::accepted);
  held.wait_for(1);
  REQUIRE(e.submit(fill) == submit_result::accepted);
  filled.wait_for(1);
  const metrics_snapshot m = e.metrics();
  CHECK(m.injected == 128 + 1);
  CHECK(m.workers[filler.value].overflowed == 128 + 1);
  filled.open();
  held.open();
  e.drain();
  CHECK(e.metrics().total().injected > 0);
}

TEST_CASE("zio: an idle worker steals from a busy one") {
  engine e(system_profile("zio", 2));
  std::atomic<int> left{100};
  const auto fill_and_wait = [&] {
    for (int i = 0; i < 100; ++i)
      if (e.submit([&] { left.fetch_sub(1); }, {.worker = worker_id{0}}) != submit_result::accepted)
        std::abort();
    while (left != 0) std::this_thread::yield(); // all must run on other workers
  };
  REQUIRE(e.submit(fill_and_wait, {.worker = worker_id{0}}) == submit_result::accepted);
  e.drain();
  CHECK(left == 0);
  CHECK(stolen_of(e.metrics().total()) > 0);
}
