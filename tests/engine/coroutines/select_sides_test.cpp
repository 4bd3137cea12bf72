// `select`: a race that waits on both sides of one channel.

#include "small_engine.hpp"

#include <corewise/engine/channel.hpp>
#include <corewise/engine/select.hpp>

#include <doctest/doctest.h>

#include <coroutine>
#include <memory>
#include <utility>

using namespace corewise;

namespace {

using parcel = std::unique_ptr<int>; // which moves
using parcels = channel<parcel>;

/// One side of a thing for which a race waits: notes how the race enters it.
template <wait_kind Kind> struct one_side {
  static constexpr wait_kind kind = Kind;
  const void* of;
  bool ready = false;
  bool both_sides = false;

  bool try_race() const noexcept { return ready; }
  const void* race_list() const noexcept { return of; }
  bool enter_race(const detail::race_part& part) noexcept {
    both_sides = part.both_sides;
    ready = true;
    return false;
  }
  void join_race(std::coroutine_handle<> /*suspended*/) const noexcept {}
  void leave_race() const noexcept {}
  void end_race() const noexcept {}
  void await_resume() const noexcept {}
};

/// Runs `f(handle)` while this coroutine is suspended.
template <class F> struct suspended_for {
  F f;
  bool await_ready() const noexcept { return false; }
  template <class Promise> bool await_suspend(std::coroutine_handle<Promise> h) { return f(h), false; }
  void await_resume() const noexcept {}
};
template <class F> suspended_for(F) -> suspended_for<F>;

} // namespace

TEST_CASE("select: a race that stands on one side of a channel sends another one back before that enters the "
          "other side") {
  engine e(small_profile(1));
  const auto enter = [](bool both) -> task<bool> {
    parcels c(0);
    parcel values[2];
    bool first = false;
    bool second = false;
    detail::race_word races[2]{detail::race_word(false), detail::race_word(false)};
    const detail::race_part parts[2]{{&races[0], both}, {&races[1], both}};
    auto one = c.send(std::move(values[0]));
    auto other = c.send(std::move(values[1]));
    co_await suspended_for{[&](auto h) {
      one.join_race(h);
      other.join_race(h);
      first = one.enter_race(parts[0]);
      second = other.enter_race(parts[1]);
      one.leave_race();
      other.leave_race();
      one.end_race();
      other.end_race();
    }};
    CHECK(first);
    co_return second;
  };
  CHECK_FALSE(sync_wait(e, enter(true)));
  CHECK(sync_wait(e, enter(false)));
}

TEST_CASE("select: the two sides of a channel are told by their kind and one address") {
  static_assert(detail::waits_for<wait_kind::send, decltype(std::declval<parcels&>().send(parcel()))>());
  static_assert(detail::waits_for<wait_kind::send, decltype(std::declval<channel<int>&>().send(
                                                       std::declval<const int&>()))>());
  static_assert(detail::waits_for<wait_kind::receive, decltype(std::declval<parcels&>().receive())>());
  parcels c(0);
  parcel value;
  const auto to = c.send(std::move(value));
  const auto from = c.receive();
  CHECK(to.race_list() == from.race_list());
}

TEST_CASE("select: knows which of its parts are the two sides of one channel") {
  engine e(small_profile(1));
  const auto enters = []() -> task<> {
    const int channels[2]{};
    one_side<wait_kind::send> to{.of = &channels[0]};
    one_side<wait_kind::receive> from{.of = &channels[0]};
    one_side<wait_kind::receive> elsewhere{.of = &channels[1]};
    const auto none = [&] { to.ready = from.ready = elsewhere.ready = false; };
    // The first part that is entered ends the round, so each comes first once.
    co_await detail::selecting(to, from);
    CHECK(to.both_sides);
    none();
    co_await detail::selecting(from, to);
    CHECK(from.both_sides);
    none();
    co_await detail::selecting(to, elsewhere);
    CHECK_FALSE(to.both_sides);
    none();
    co_await detail::selecting(elsewhere, elsewhere);
    CHECK_FALSE(elsewhere.both_sides);
  };
  sync_wait(e, enters());
}
