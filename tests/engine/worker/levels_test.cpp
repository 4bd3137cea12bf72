// The levels of load (ADR 0014) of an engine that runs: the level that others are shown of a worker, against
// its load.

#include "base/fence.hpp"
#include "runtime/runtime.hpp"
#include "small_engine.hpp"

#include <corewise/engine/detail/execution.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

using namespace corewise;

namespace {

constexpr worker_id first_worker{0};
/// The owner may push or run this many tasks before it shows its load, where half a tick has no more.
constexpr std::uint32_t unshown = 16;
constexpr std::uint32_t tasks_in_tick = 2 * unshown;

/// Returns a profile in which a placed task stays where it was placed, and a worker sleeps until it is woken.
profile undisturbed(profile p) {
  p.queues.budget = tasks_in_tick;
  p.steal.policy = "none";
  p.idle.park_timeout.kind = park_timeout_setting::mode::never;
  return p;
}

/// An engine, and the levels that its threads see.
class seen_engine {
 public:
  explicit seen_engine(const profile& p) : e_(undisturbed(p)) {
    run([this] { inside_ = detail::this_execution.engine; });
  }

  runtime& inside() { return *inside_; }
  std::uint32_t load() { return inside_->view().load(first_group, 0).total(); }
  std::uint8_t shown() { return inside_->board(first_group).levels.at(0); }
  load_levels& group_levels() { return const_cast<load_levels&>(*inside_->view().group_levels); }

  void submit(const std::function<void()>& f) {
    if (e_.submit(f, {.worker = first_worker}) != submit_result::accepted) std::abort();
  }

  /// Runs one task on the first worker, and all that it submits. Returns when all workers sleep.
  void run(const std::function<void()>& f) {
    submit(f);
    e_.drain();
    while (asleep() != e_.workers().size()) std::this_thread::yield();
    detail::full_fence(); // this thread sees all that the workers did before
  }

  /// Wakes all workers; each finds nothing and sleeps again.
  void wake_all() {
    const std::uint64_t parks = e_.metrics().total().parks + e_.workers().size();
    inside_->idle().wake_all();
    while (e_.metrics().total().parks < parks) std::this_thread::yield();
    detail::full_fence();
  }

 private:
  std::uint64_t asleep() const {
    const worker_metrics all = e_.metrics().total();
    return all.parks - all.wakes;
  }

  engine e_;
  runtime* inside_ = nullptr;
};

/// Takes long enough to count as a long task.
void take_a_while() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds{2};
  while (std::chrono::steady_clock::now() < end) {
  }
}

} // namespace

TEST_CASE("levels: with short tasks others see a worker's load to within 16 tasks") {
  seen_engine e(small_profile(1));
  int wrong = 0; // only the worker writes it
  const auto look = [&](std::uint32_t fewer, std::uint32_t more) {
    const std::uint32_t load = e.load();
    const std::uint8_t shown = e.shown();
    if (shown < load_level(load - std::min(load, fewer)) || shown > load_level(load + more)) ++wrong;
  };
  // The engine shows each change until it has seen that tasks are short; so there are many.
  for (int burst = 0; burst < 200; ++burst) {
    CAPTURE(burst);
    e.run([&] {
      for (int i = 0; i < 200; ++i) {
        e.submit([&] { look(unshown, unshown); });
        look(unshown, 0);
      }
    });
    REQUIRE(e.shown() == 0);
  }
  CHECK(wrong == 0);
}

TEST_CASE("levels: with long tasks others see a worker's load after each task") {
  seen_engine e(small_profile(1));
  int wrong = 0;
  for (int burst = 0; burst < 40; ++burst) {
    CAPTURE(burst);
    e.run([&] {
      for (int i = 0; i < 100; ++i)
        e.submit([&] {
          if (e.shown() != load_level(e.load())) ++wrong;
          take_a_while();
        });
      take_a_while();
    });
    REQUIRE(e.shown() == 0);
  }
  CHECK(wrong == 0);
}

// When two threads publish at once, one may overwrite the group's level with a value that was true before the
// other published. The tests write such a value.

TEST_CASE("levels: a wrong level of a group is corrected by a tick of one of its workers") {
  seen_engine e(two_package_profile(1));
  int runs = 0;
  e.run([&] {
    for (std::uint32_t i = 0; i < 4 * tasks_in_tick; ++i)
      e.submit([&] {
        if (++runs != 2 * tasks_in_tick) return;
        CHECK(e.shown() > 0);
        CHECK(e.group_levels().at(first_group.value) == e.shown());
      });
    e.group_levels().publish(first_group.value, 0);
  });
  CHECK(runs == 4 * tasks_in_tick);
}

TEST_CASE("levels: a wrong level of a group is corrected before one of its workers sleeps") {
  seen_engine e(two_package_profile(1));
  e.group_levels().publish(first_group.value, 7);
  e.wake_all();
  CHECK(e.group_levels().at(first_group.value) == 0);
}
