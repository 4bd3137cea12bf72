#pragma once

#include <corewise/engine/detail/awaiting.hpp>
#include <corewise/engine/detail/race.hpp>
#include <corewise/engine/sleep.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace corewise {

namespace detail {

/// An awaiter that may be a part of a race (race.hpp).
template <class A>
concept race_awaiter = requires(A& a, race_part& part, std::coroutine_handle<> h) {
  { a.try_race() } -> std::same_as<bool>;
  { a.race_list() } -> std::same_as<const void*>;
  { a.enter_race(part) } -> std::same_as<bool>;
  a.join_race(h);
  a.leave_race();
  a.end_race();
};

/// The state of a generator (xorshift64, by G. Marsaglia). Hidden: GCC makes others unique in the process, and then
/// modules with them are never unloaded.
[[gnu::visibility("hidden")]] inline constinit thread_local std::uint64_t race_state = 0x9E3779B97F4A7C15;

/// Returns a number below `n` by which a race begins: none of several that are ready comes first each time.
inline std::size_t race_turn(std::size_t n) noexcept {
  race_state ^= race_state << 13;
  race_state ^= race_state >> 7;
  race_state ^= race_state << 17;
  return race_state % n;
}

/// Whether a part of a race waits for `Kind`.
template <wait_kind Kind, class A> constexpr bool waits_for() {
  if constexpr (requires { A::kind; })
    return A::kind == Kind;
  else
    return false;
}

template <class T> using race_value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// Awaits the first of several. Lives in the awaiting frame, as the awaiters do to which it refers.
template <class... A> class [[nodiscard]] selecting {
  static constexpr std::size_t size = sizeof...(A);
  using result = std::variant<race_value<decltype(std::declval<A&>().await_resume())>...>;

 public:
  explicit selecting(A&... parts) noexcept : awaiters_(parts...) {}
  selecting(const selecting&) = delete;
  selecting& operator=(const selecting&) = delete;
  ~selecting() {
    if (suspended_) leave_all(); // its frame is destroyed
  }

  bool await_ready() noexcept { return try_all(); }
  template <class Promise> bool await_suspend(std::coroutine_handle<Promise> suspended) {
    each([&](std::size_t /*index*/, auto& a) { a.join_race(suspended); });
    suspended_ = true;
    const std::array<std::size_t, size> order = in_order();
    for (;;) {
      race_.open();
      bool ready = false;
      for (std::size_t i = 0; i < size && !ready; ++i)
        at(order[i], [&](auto& a) { ready = !a.enter_race(parts_[order[i]]); });
      // After true, a thread that has granted a part lets the coroutine go on.
      if (!ready || !race_.claim(own_)) return end_entering();
      leave_all();
      if (try_all()) return false;
    }
  }
  result await_resume() {
    const std::size_t won = winner();
    if (std::exchange(suspended_, false)) {
      leave_all();
      each([&](std::size_t index, auto& a) {
        if (index != won) a.end_race();
      });
    }
    return take(won);
  }

 private:
  bool end_entering() noexcept {
    if (race_.queued_last == nullptr) [[likely]]
      return !race_.meet();
    race_.queued_last->wake();
    return true;
  }
  template <class F> void each(const F& f) {
    std::size_t index = 0;
    std::apply([&](auto&... a) { (f(index++, a), ...); }, awaiters_);
  }
  template <class F> void at(std::size_t wanted, const F& f) {
    each([&](std::size_t index, auto& a) {
      if (index == wanted) f(a);
    });
  }
  /// Takes one of those that are ready. Returns whether any was.
  bool try_all() noexcept {
    const std::size_t first = race_turn(size);
    bool taken = false;
    for (std::size_t i = 0; i < size && !taken; ++i) {
      taken_ = (first + i) % size;
      at(taken_, [&](auto& a) { taken = a.try_race(); });
    }
    if (!taken) taken_ = size;
    return taken;
  }
  void leave_all() noexcept {
    each([](std::size_t /*index*/, auto& a) { a.leave_race(); });
  }
  std::array<std::size_t, size> in_order() noexcept {
    std::array<const void*, size> lists{};
    std::array<std::size_t, size> order{};
    each([&](std::size_t index, auto& a) {
      lists[index] = a.race_list();
      std::size_t i = index;
      for (; i != 0 && std::less<>()(lists[index], lists[order[i - 1]]); --i) order[i] = order[i - 1];
      order[i] = index;
    });
    for (race_part& p : parts_) p.race = &race_;
    // No static members: GCC makes these unique in the process, too.
    constexpr std::array<bool, size> sends{waits_for<wait_kind::send, A>()...};
    constexpr std::array<bool, size> receives{waits_for<wait_kind::receive, A>()...};
    if constexpr ((waits_for<wait_kind::send, A>() || ...) && (waits_for<wait_kind::receive, A>() || ...))
      for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j < size; ++j)
          if (sends[i] && receives[j] && lists[i] == lists[j])
            parts_[i].both_sides = parts_[j].both_sides = true;
    return order;
  }
  std::size_t winner() const noexcept {
    return taken_ != size ? taken_ : static_cast<std::size_t>(race_.winner() - parts_.data());
  }
  /// Ends the wait that has won.
  template <std::size_t I = 0> result take(std::size_t won) {
    if constexpr (I + 1 < size)
      if (won != I) return take<I + 1>(won);
    auto& a = std::get<I>(awaiters_);
    if constexpr (std::is_void_v<decltype(a.await_resume())>) {
      a.await_resume();
      return result(std::in_place_index<I>);
    } else {
      return result(std::in_place_index<I>, a.await_resume());
    }
  }

  std::tuple<A&...> awaiters_;
  std::array<race_part, size> parts_;
  race_part own_;
  race_word race_{(std::is_base_of_v<sleeping, A> && ...)};
  std::size_t taken_ = size; // the part that `try_all` has taken
  bool suspended_ = false;
};

} // namespace detail

/// `auto r = co_await select(c.receive(), d.send(std::move(v)), s.acquire(), e.wait(), sleep_for(1ms))`:
/// waits for the first of them that is possible, and does that alone: nothing is received, sent or acquired
/// for the others. The await returns a `std::variant` with the result of that one; its index says which it is
/// (`std::monostate` for void). Of several that are possible at once it takes one at random. A channel that
/// is closed is ready: `receive` answers nothing, `send` answers false.
///
/// It takes the waits without a stop token of `channel`, `semaphore`, `mutex`, `event`, `auto_reset_event`
/// and `latch`, and `sleep_for` and `sleep_until`; call them in the same expression. A deadline is a sleep,
/// and a stop is an event. Call within an engine's coroutines. A coroutine that waits counts once for each
/// thing in `dump`. Cost: that of each wait until one is ready, at least two locked instructions for each;
/// allocates nothing.
template <detail::race_awaiter... A>
  requires(sizeof...(A) != 0 && (!std::is_lvalue_reference_v<A> && ...))
detail::selecting<A...> select(A&&... those) noexcept {
  return detail::selecting<A...>(those...);
}

} // namespace corewise
