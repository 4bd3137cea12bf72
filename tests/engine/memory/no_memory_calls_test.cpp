#include "refused_block_calls.hpp"
#include "small_engine.hpp"
#include "within.hpp"

#include <corewise/engine/task.hpp>
#include <corewise/engine/timer.hpp>

#include <doctest/doctest.h>

#include <array>
#include <new>
#include <stop_token>
#include <thread>
#include <utility>

// One allocation on the thread that hands work to an engine fails, each in turn, recycled blocks among them: the call
// throws, and nothing is left of it, or the work runs once.

using namespace corewise;
using namespace std::chrono_literals;
using tests::before_refusal;
using tests::blocks_refused;

namespace {

struct counts {
  std::atomic<int> ran{0};
  std::atomic<int> alive{0}; // objects that closures and coroutines have captured
};

/// A callable that counts its calls and its copies. `Bytes`: how much it captures beside that.
template <std::size_t Bytes = 1> class counted {
 public:
  explicit counted(counts& all) : all_(&all) { ++all.alive; }
  counted(const counted& other) : all_(other.all_) { ++all_->alive; }
  counted& operator=(const counted&) = delete;
  ~counted() { --all_->alive; }

  void operator()() const { ++all_->ran; }

 private:
  counts* all_;
  std::array<char, Bytes> more_{};
};

using small = counted<>;
using large = counted<1000>;
using huge = counted<10'000>; // larger than any recycled block

task<> coroutine(small work) {
  work();
  co_return;
}

/// Calls `call(e, counts)` on a new thread, for an engine of its own whose only worker is held, and refuses each of the
/// thread's allocations, one each time. Returns how many there are.
template <class Call> int refuse_each_of(const Call& call) {
  for (int n = 1;; ++n) {
    CAPTURE(n);
    counts all;
    gate held;
    bool thrown = false;
    int left = 0; // above 0: the thread has not asked so often
    {
      profile p = small_profile(1);
      p.limits.in_flight = 2;
      p.topology.follow.kind = follow_setting::mode::off;
      p.blocking.stuck_after.reset(); // a look of the supervisor's could take the refusal
      engine e(p);
      REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
      held.wait_for(1);
      std::thread([&] {
        before_refusal = n;
        try {
          call(e, all);
        } catch (const std::bad_alloc&) {
          thrown = true;
        }
        left = before_refusal.exchange(0);
      }).join();
      if (thrown) {
        CHECK(all.alive == 0);
        CHECK(e.metrics().in_flight() == 1);
        CHECK(e.try_submit([] {}) == submit_result::accepted); // the place under the limit is free
        CHECK(e.metrics().timers_pending == 0);
      }
      held.open();
      CHECK(within(10s, [&] { return thrown || all.ran != 0; }));
      e.drain();
      CHECK(e.metrics().in_flight() == 0);
    }
    CHECK(all.ran == (thrown ? 0 : 1));
    CHECK(all.alive == 0);
    if (left > 0) {
      CHECK_FALSE(thrown);
      return n - 1;
    }
  }
}

const hint expired{.deadline = std::chrono::steady_clock::time_point::min()};

} // namespace

TEST_CASE("no memory: a submission that finds none throws and has no effect") {
  blocks_refused = 0;
  const auto accepted = [](submit_result in) { CHECK(in == submit_result::accepted); };
  CHECK(refuse_each_of([&](engine& e, counts& all) { accepted(e.submit(small(all))); }) > 3);
  CHECK(blocks_refused == 1);
  CHECK(refuse_each_of([&](engine& e, counts& all) { accepted(e.submit(large(all))); }) > 3);
  CHECK(refuse_each_of([&](engine& e, counts& all) { accepted(e.submit(huge(all))); }) > 3);
  CHECK(refuse_each_of([&](engine& e, counts& all) { accepted(e.submit(coroutine(small(all)))); }) > 3);
  CHECK(refuse_each_of([&](engine& e, counts& all) { accepted(e.try_submit(small(all))); }) > 3);
  CHECK(refuse_each_of([&](engine& e, counts& all) {
          accepted(e.submit(small(all), near(&all, {.name = "named", .id = {1, 2}})));
        }) > 5);
  CHECK(refuse_each_of([&](engine& e, counts& all) {
          accepted(e.submit_or(small(all), [](small, submit_result) { CHECK(false); }));
        }) > 3);
  CHECK(refuse_each_of([&](engine& e, counts& all) {
          accepted(e.submit_or(small(all), [](small, submit_result) { CHECK(false); }, {.name = "named"}));
        }) > 4);
}

TEST_CASE("no memory: a submission with a deadline that finds none throws, and `on_expired` is not called") {
  for (const hint& wish : {hint{}, expired, hint{.deadline = expired.deadline, .name = "named"}}) {
    CHECK(refuse_each_of([&](engine& e, counts& all) {
            CHECK(e.submit(small(all), wish, large(all)) == submit_result::accepted);
          }) > 4);
    CHECK(refuse_each_of([&](engine& e, counts& all) {
            CHECK(e.submit(coroutine(small(all)), wish, small(all)) == submit_result::accepted);
          }) > 4);
  }
}

TEST_CASE("no memory: work with a future that finds none throws and has no effect") {
  for (const hint& wish :
       {hint{}, hint{.deadline = std::chrono::steady_clock::time_point::max(), .name = "named"}}) {
    CHECK(refuse_each_of([&](engine& e, counts& all) { static_cast<void>(e.run(small(all), wish)); }) > 4);
    CHECK(refuse_each_of([&](engine& e, counts& all) { static_cast<void>(e.run(huge(all), wish)); }) > 4);
    CHECK(refuse_each_of(
              [&](engine& e, counts& all) { static_cast<void>(e.run(coroutine(small(all)), wish)); }) > 4);
    CHECK(refuse_each_of([&](engine& e, counts& all) {
            static_cast<void>(e.run([work = small(all)] { return coroutine(work); }, wish));
          }) > 3);
  }
}

TEST_CASE("no memory: a timer that finds none throws and has no effect") {
  CHECK(refuse_each_of([&](engine& e, counts& all) { static_cast<void>(e.after(1ms, small(all))); }) > 0);
  CHECK(refuse_each_of([&](engine& e, counts& all) { static_cast<void>(e.after(1ms, huge(all))); }) > 0);
  CHECK(refuse_each_of([&](engine& e, counts& all) {
          std::stop_source never;
          static_cast<void>(e.after(1ms, large(all), never.get_token()));
        }) > 1);
  CHECK(refuse_each_of([&](engine& e, counts& all) {
          std::stop_source once;
          auto beat = [work = small(all), once]() mutable {
            work();
            once.request_stop();
          };
          static_cast<void>(e.every(1ms, std::move(beat), once.get_token()));
        }) > 1);
}
