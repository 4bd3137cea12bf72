#include "faults.hpp"
#include "runtime.hpp"
#include "small_engine.hpp"

#include <corewise/engine/oneshot.hpp>

#include <doctest/doctest.h>

#include <thread>

// An unbounded inbox is emptied by one thread at a time: by its worker, and once that one has left, by whoever drops what
// comes after the end. A worker that leaves looks at its queues while another thread may be doing so.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// As Nio's: nobody steals, and inboxes are unbounded.
profile unbounded_profile() {
  profile p = small_profile(1);
  p.steal.policy = "none";
  p.queues.inbox.reset();
  p.injection.scope = injection_scope::none;
  p.dispatch.policy = "lightest";
  return p;
}

/// Wakes a coroutine of an engine that has ended, and so drops it; another thread does `meanwhile(engine, seat)` wherever
/// this one has stopped between two steps and the inbox is empty. Answers how often it did.
template <class Meanwhile> int drop_late(const Meanwhile& meanwhile) {
  engine e(unbounded_profile());
  runtime& inside = inside_of(e);
  detail::worker& seat = inside.seat(worker_id{0});
  oneshot<int> value;
  std::atomic<bool> begun{false};
  const auto receive = [](oneshot<int>& from, std::atomic<bool>& is_there) -> task<> {
    is_there = true;
    static_cast<void>(co_await from.receive());
  };
  REQUIRE(e.submit(receive(value, begun)) == submit_result::accepted);
  while (!begun) std::this_thread::yield();
  static_cast<void>(e.shutdown(0ns));
  while (!seat.has_left()) std::this_thread::yield();
  int times = 0;
  tests::at_each_step([&] {
    if (seat.queues().in.size() != 0) return;
    std::thread([&] { meanwhile(inside, seat); }).join();
    ++times;
  });
  value.send(1);
  tests::at_each_step({});
  CHECK(seat.queues().in.put() != 0);
  return times;
}

} // namespace

TEST_CASE("one owner: a worker that leaves does not look into an inbox that another thread empties") {
  tests::count_meetings();
  const std::uint64_t before = tests::meetings();
  CHECK(drop_late([](runtime& inside, detail::worker& seat) { inside.leave_ended(seat); }) > 0);
  CHECK(tests::meetings() == before);
}

TEST_CASE("one owner: the same with a look that is the owner's is noticed") {
  tests::count_meetings();
  const std::uint64_t before = tests::meetings();
  CHECK(drop_late([](runtime&, detail::worker& seat) { static_cast<void>(seat.queues().ready()); }) > 0);
  CHECK(tests::meetings() > before);
}
