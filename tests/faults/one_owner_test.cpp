#include "faults.hpp"
#include "runtime/runtime.hpp"
#include "small_engine.hpp"

#include <corewise/engine/task.hpp>

#include <doctest/doctest.h>

#include <thread>

// One thread at a time empties an unbounded inbox: its worker, and once that worker has left, any thread that
// drops tasks that come after the end. A worker that leaves looks at its queues while another thread may be
// doing so.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// A profile like Nio's: no worker steals, and inboxes are unbounded.
profile unbounded_profile() {
  profile p = small_profile(1);
  p.steal.policy = "none";
  p.queues.inbox.reset();
  p.injection.scope = injection_scope::none;
  p.dispatch.policy = "lightest";
  return p;
}

/// An awaitable that is none of corewise's, so that the engine's end does not know its waiter.
struct foreign_wait {
  std::atomic<detail::resumption*>& waiting;
  detail::resumption place = {};

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) noexcept {
    place.suspend(suspended);
    waiting = &place;
  }
  void await_resume() const noexcept {}
};

/// Wakes a coroutine of an engine that has ended, and so drops it. Wherever this thread has stopped between
/// two steps and the inbox is empty, another thread calls `meanwhile(engine, seat)`. Returns how often it
/// did.
template <class Meanwhile> int drop_late(const Meanwhile& meanwhile) {
  engine e(unbounded_profile());
  runtime& inside = inside_of(e);
  detail::worker& seat = inside.seat(worker_id{0});
  std::atomic<detail::resumption*> waiting{nullptr};
  const auto wait = [](std::atomic<detail::resumption*>& in) -> task<> { co_await foreign_wait{in}; };
  REQUIRE(e.submit(wait(waiting)) == submit_result::accepted);
  while (waiting == nullptr) std::this_thread::yield();
  static_cast<void>(e.shutdown(0ns));
  while (!seat.lender().has_left()) std::this_thread::yield();
  int times = 0;
  tests::at_each_step([&] {
    if (seat.queues().in.size() != 0) return;
    std::thread([&] { meanwhile(inside, seat); }).join();
    ++times;
  });
  waiting.load()->wake();
  tests::at_each_step({});
  CHECK(seat.queues().in.put() != 0);
  return times;
}

} // namespace

TEST_CASE("one owner: a leaving worker does not look into an inbox that another thread empties") {
  tests::count_meetings();
  const std::uint64_t before = tests::meetings();
  CHECK(drop_late([](runtime& inside, detail::worker& seat) { inside.dropping().drop_rest_of(seat); }) > 0);
  CHECK(tests::meetings() == before);
}

TEST_CASE("one owner: the test notices a leaving worker that looks as the owner does") {
  tests::count_meetings();
  const std::uint64_t before = tests::meetings();
  CHECK(drop_late([](runtime&, detail::worker& seat) { static_cast<void>(seat.queues().ready()); }) > 0);
  CHECK(tests::meetings() > before);
}
