// How long a task may lie in a LIFO slot behind a task that does not end (design.md, D7b), by a clock that the test makes.
// There is no other thread.

#include "idle/lookout.hpp"
#include "small_engine.hpp"

#include <corewise/topology/discovery.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;
using detail::monotonic;

namespace {

constexpr worker_id busy{0};
constexpr worker_id sleeper{1};

/// Two workers of a group: one runs a task that does not end, and the other one sleeps.
class two_seats {
 public:
  /// `alone`: the workers take as one that began alone.
  explicit two_seats(bool alone = false) : takers_(alone) {
    for (int w = 0; w < 2; ++w) rings_.emplace_back(4), inboxes_.emplace_back(4);
    boards_.push_back(std::make_unique<group_board>(2, entries_.data()));
    boards_[0]->active.store(2, std::memory_order_relaxed);
    for (std::size_t w = 0; w < 2; ++w) {
      seats_.push_back(std::make_unique<detail::worker_queues>(
          detail::queue_memory{entries_[w], rings_[w], inboxes_[w]}, takers_));
      queues_.push_back(seats_.back().get());
    }
    classes_.push_back(std::make_unique<detail::domain_classes>(class_cells_));
    wakes_ = std::make_unique<detail::wake_ups>(
        groups_, layout_, boards_, detail::queued_work(groups_, layout_, queues_, injections_, classes_));
    wakes_->set(settings_);
    wakes_->sleepers().lie_down(sleeper, false);
    lookout_ = std::make_unique<detail::lookout>(layout_, *wakes_);
  }

  std::optional<std::chrono::nanoseconds> look(monotonic::time_point now) noexcept {
    return lookout_->look(now);
  }
  detail::sole_taker& takers() noexcept { return takers_; }
  /// Fills the slot of the busy worker.
  void fill() { CHECK(queues_[busy.value]->lifo.put(&task_) == nullptr); }
  /// Returns whether the task is where another worker takes it, and that one has been woken.
  bool given() {
    if (!queues_[busy.value]->lifo.empty()) return false;
    CHECK(queues_[busy.value]->in.pop() == &task_);
    CHECK(!wakes_->sleepers().is_parked(sleeper));
    return true;
  }

 private:
  static profile of_two() {
    profile p = small_profile(2);
    p.topology.machine.source = synthetic_source{"core:2 pu:1"};
    p.idle.park_timeout.kind = park_timeout_setting::mode::never; // only the slots are looked at
    return p;
  }

  const profile settings_ = of_two();
  const topology machine_ = discover(settings_.topology.machine);
  const locality_groups groups_{machine_, settings_.topology.groups};
  const worker_layout layout_{machine_, groups_, worker_options_of(settings_, {})};
  std::vector<board_entry> entries_{2};
  std::vector<std::unique_ptr<group_board>> boards_;
  std::vector<std::vector<detail::local_queue::cell>> rings_;
  std::vector<std::vector<detail::inbox::cell>> inboxes_;
  std::vector<detail::inbox::cell> class_cells_{detail::domain_classes::cells_needed};
  detail::sole_taker takers_;
  std::vector<std::unique_ptr<detail::worker_queues>> seats_;
  std::vector<detail::worker_queues*> queues_;
  detail::injection_queue injection_;
  std::vector<detail::injection_queue*> injections_{&injection_};
  std::vector<std::unique_ptr<detail::domain_classes>> classes_;
  std::unique_ptr<detail::wake_ups> wakes_;
  std::unique_ptr<detail::lookout> lookout_;
  task_header task_;
};

/// A thread with that lookout, which sleeps as long as each look says. `early`: it wakes up before, now and then.
class looking_thread {
 public:
  looking_thread(two_seats& seats, unsigned seed, bool early) : seats_(seats), random_(seed), early_(early) {}

  /// Lets that time pass, or less if the task has been given away. Returns how much has passed.
  std::chrono::nanoseconds pass(std::chrono::nanoseconds time, bool until_given = false) {
    const auto begun = now_;
    const auto end = now_ + time;
    while (next_ <= end && !(until_given && seats_.given())) {
      now_ = next_;
      const auto rest = seats_.look(now_);
      REQUIRE(rest);
      REQUIRE(*rest > 0ns);
      ++looks;
      next_ = now_ +
              (early_ && random_() % 2 == 0 ? *rest * static_cast<int>(random_() % 100) / 100 + 1ns : *rest);
    }
    if (!until_given) now_ = end;
    return now_ - begun;
  }

  int looks = 0;

 private:
  two_seats& seats_;
  std::minstd_rand random_;
  bool early_;
  monotonic::time_point now_{1h};
  monotonic::time_point next_ = now_;
};

} // namespace

TEST_CASE(
    "lookout: a task stays in a slot for at most 25 ms, however long all slots have been empty before") {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    two_seats seats;
    looking_thread thread(seats, seed, /*early=*/seed % 2 == 0);
    thread.pass(100ms +
                std::chrono::microseconds{seed * 1237 % 60'000}); // at another moment between two looks
    seats.fill();
    CHECK(thread.pass(1s, /*until_given=*/true) <= 25ms);
  }
}

TEST_CASE("lookout: when all slots have been empty for 100 ms, it looks fifty times a second") {
  two_seats seats;
  looking_thread thread(seats, 1, /*early=*/false);
  thread.pass(200ms);
  thread.looks = 0;
  thread.pass(10s);
  CHECK(thread.looks <= 501);
}

TEST_CASE("lookout: the slot of a worker that began alone is left to it until others may take") {
  two_seats seats(/*alone=*/true);
  if (!seats.takers().alone()) {
    MESSAGE("skipped: the kernel has no such barrier");
    return;
  }
  looking_thread thread(seats, 1, /*early=*/false);
  seats.fill();
  thread.pass(1s);
  CHECK_FALSE(seats.given());
  CHECK(thread.looks <= 151); // the slot counts as empty
  REQUIRE(seats.takers().share());
  CHECK(thread.pass(1s, /*until_given=*/true) <= 25ms);
}
