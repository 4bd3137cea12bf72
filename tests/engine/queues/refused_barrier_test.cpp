#include "queues/sole_taker.hpp"
#include "refused_call.hpp"
#include "runtime/following.hpp"
#include "small_engine.hpp"

#include <doctest/doctest.h>
#include <linux/membarrier.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

// Kernels that refuse a barrier, as old kernels and those of sandboxes do. By that barrier other threads come
// to take the tasks that an engine of one worker has queued (sole_taker.hpp).

using namespace corewise;
using namespace std::chrono_literals;

namespace {

struct ending {
  std::uint64_t dropped; // by `shutdown`, while the task runs that has submitted ten tasks
  int runs;              // how many of the ten ran
  long held;             // how many of the ten are left when the worker has left
};

/// Ends an engine whose only worker is in a task that has submitted others into its slot and its ring.
ending end_in_a_task() {
  auto held = std::make_shared<gate>();
  auto token = std::make_shared<int>(1);
  std::atomic<int> runs{0};
  ending answer{};
  {
    engine e(small_profile(1));
    const auto submit = [&] {
      for (int i = 0; i < 10; ++i) static_cast<void>(e.submit([&runs, token] { runs.fetch_add(1); }));
    };
    static_cast<void>(e.submit([&submit, held] {
      submit();
      held->pass();
    }));
    held->wait_for(1);
    answer.dropped = e.shutdown(5ms).dropped;
  }
  held->open();
  while (held.use_count() > 1) std::this_thread::yield();
  for (int i = 0; i < 1000 && token.use_count() > 1; ++i) std::this_thread::sleep_for(10ms);
  answer.runs = runs;
  answer.held = token.use_count() - 1;
  return answer;
}

} // namespace

TEST_CASE("refused barrier: on a kernel without the barrier every taker uses locked instructions from the "
          "beginning") {
  CHECK(tests::wrong_without(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, [] {
          const detail::sole_taker takers(true);
          const ending e = end_in_a_task();
          return int{takers.alone()} + 2 * int{e.dropped != 10} + 4 * int{e.runs != 0} + 8 * int{e.held != 0};
        }) == 0);
}

TEST_CASE(
    "refused barrier: if the kernel refuses it later, queued tasks are dropped after the worker has left") {
  CHECK(tests::wrong_without(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, [] {
          detail::sole_taker takers(true);
          if (!takers.alone()) return tests::cannot_tell;
          const bool shared = takers.share() || takers.shared() || takers.begin_alone();
          const ending e = end_in_a_task();
          return int{shared} + 2 * int{e.dropped != 0} + 4 * int{e.runs != 0} + 8 * int{e.held != 0};
        }) == 0);
}

TEST_CASE(
    "refused barrier: if the kernel refuses it later, an engine that began with one worker gets no more") {
  CHECK(tests::wrong_without(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, [] {
          if (!detail::sole_taker(true).alone()) return tests::cannot_tell;
          const tests::recorded_host host(4);
          host.quota("100000 100000");
          engine follows(tests::waiting(host));
          host.quota("200000 100000");
          const bool grew = follows.refresh().has_value();
          const bool told = std::ranges::any_of(follows.warnings(), [](const std::string& w) {
            return w.find("refuses membarrier") != std::string::npos;
          });
          profile p = small_profile(1);
          p.workers.headroom = 1;
          engine reloaded(p);
          const bool as_many = reloaded.apply(p).applied(); // needs no barrier
          p.workers.total = 2;
          const apply_result more = reloaded.apply(p);
          bool goes_on = true;
          for (engine* e : {&follows, &reloaded})
            goes_on = goes_on && e->metrics().total().active == 1 && e->run([] { return 7; }).get() == 7;
          return int{grew} + 2 * int{!told} + 4 * int{!as_many} + 8 * int{more.applied()} +
                 16 * int{more.to_text().find("workers.total") == std::string::npos} + 32 * int{!goes_on};
        }) == 0);
}
