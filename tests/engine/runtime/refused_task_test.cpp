// Tests that a refused task's callable comes back with all that it owns.

#include "small_engine.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <stdexcept>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// A connection that must be answered by somebody. Moves only.
struct request {
  std::unique_ptr<int> connection;
  std::atomic<int>* served;
  void operator()() { served->fetch_add(*connection); }
};

} // namespace

TEST_CASE("submit_or: a callable that a full engine refuses comes back whole, with the reason") {
  profile p = small_profile(1);
  p.limits.in_flight = 1;
  p.limits.on_full = full_action::reject;
  for (const hint& wish : {hint{}, hint{.run_as = task_class::latency}, hint{.deadline = from_now(1h)},
                           near(&p), hint{.worker = worker_id{0}}}) {
    gate held;
    std::atomic<int> served{0};
    engine e(p);
    REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
    std::optional<request> back;
    submit_result why = submit_result::accepted;
    const auto refused = [&](request&& r, submit_result reason) {
      back.emplace(std::move(r));
      why = reason;
    };
    CHECK(e.submit_or(request{std::make_unique<int>(3), &served}, refused, wish) == submit_result::full);
    CHECK(why == submit_result::full);
    REQUIRE(back);
    REQUIRE(back->connection);
    CHECK(*back->connection == 3);
    held.open();
    e.drain();
    CHECK(served == 0);
    CHECK(e.submit_or(std::move(*back), refused, wish) == submit_result::accepted);
    e.drain();
    CHECK(served == 3);
    CHECK(e.metrics().rejected == 1);
  }
}

TEST_CASE("submit_or: an engine that has ended gives the callable back, from a thread and from a task of "
          "another engine") {
  std::atomic<int> served{0};
  engine ended(small_profile(1));
  CHECK(ended.shutdown(1s).clean());
  int back = 0;
  const auto refused = [&](request&& r, submit_result why) {
    CHECK(why == submit_result::stopping);
    back += *r.connection;
  };
  CHECK(ended.submit_or(request{std::make_unique<int>(1), &served}, refused) == submit_result::stopping);
  engine e(small_profile(1));
  CHECK(e.submit([&] {
    CHECK(ended.submit_or(request{std::make_unique<int>(2), &served}, refused) == submit_result::stopping);
  }) == submit_result::accepted);
  e.drain();
  CHECK(back == 3);
  CHECK(served == 0);
}

TEST_CASE(
    "submit_or: a coroutine that is refused comes back as it was, to be submitted, awaited or dropped") {
  profile p = small_profile(1);
  p.limits.in_flight = 1;
  p.limits.on_full = full_action::reject;
  const auto serve = [](request r) -> task<> {
    r();
    co_return;
  };
  const auto await = [](task<> of) -> task<> { co_await std::move(of); };
  for (const hint& wish :
       {hint{}, hint{.deadline = from_now(1h)}, near(&p), hint{.name = "named"}, hint{.daemon = true}}) {
    std::atomic<int> served{0};
    engine e(p);
    std::optional<task<>> back;
    const auto refused = [&](task<> coroutine, submit_result why) {
      CHECK(why == (wish.daemon ? submit_result::stopping : submit_result::full));
      back.emplace(std::move(coroutine));
    };
    const auto refuse = [&](int connection) {
      gate held;
      if (wish.daemon) { // it needs no room
        engine ended(p);
        CHECK(ended.shutdown(1s).clean());
        CHECK(ended.submit_or(serve({std::make_unique<int>(connection), &served}), refused, wish) ==
              submit_result::stopping);
        return;
      }
      REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
      CHECK(e.submit_or(serve({std::make_unique<int>(connection), &served}), refused, wish) ==
            submit_result::full);
      CHECK(e.try_submit(serve({std::make_unique<int>(100), &served}), wish) == submit_result::full);
      held.open();
      e.drain();
    };
    refuse(1);
    REQUIRE(back);
    CHECK(e.submit_or(std::move(*back), refused, hint{.name = wish.name}) == submit_result::accepted);
    e.drain();
    CHECK(served == 1);
    refuse(2);
    CHECK(e.try_submit(await(std::move(*back))) == submit_result::accepted);
    e.drain();
    CHECK(served == 3);
    refuse(4);
    back.reset();
    CHECK(served == 3);
  }
}

TEST_CASE("submit_or: what `on_refused` throws goes to the caller, and the callable is destroyed") {
  engine ended(small_profile(1));
  CHECK(ended.shutdown(1s).clean());
  const auto owned = std::make_shared<int>(1);
  const auto throws = [](const auto&, submit_result) { throw std::runtime_error("refused"); };
  CHECK_THROWS_AS(static_cast<void>(ended.submit_or([owned] {}, throws)), std::runtime_error);
  CHECK(owned.use_count() == 1);
}
