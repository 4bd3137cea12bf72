#include "system_engine.hpp"

#include <doctest/doctest.h>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE("local-only: a task and all that it submits stay on one worker") {
  engine e(system_profile("local-only", 4));
  std::atomic<int> strayed{0};
  const auto root = [&] {
    const worker_id home = *e.this_worker();
    for (int i = 0; i < 500; ++i) // more than a ring holds
      if (e.submit([&, home] { strayed += *e.this_worker() == home ? 0 : 1; }) != submit_result::accepted)
        std::abort();
  };
  for (int i = 0; i < 100; ++i) REQUIRE(e.submit(root) == submit_result::accepted);
  e.drain();
  CHECK(strayed == 0);
  const worker_metrics all = e.metrics().total();
  CHECK(all.executed == 100 * 501);
  CHECK(all.placed == 100 * 501);
  CHECK(all.injected == 0);
  CHECK(stolen_of(all) == 0);
}
