#pragma once

#include <corewise/policies/detail/clock.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <ratio>
#include <utility>

// Durations and moments of any unit, as parameters. `std::chrono` computes in the unit of a function, and
// `hours::max()` in nanoseconds overflows. These types saturate: what is too long is `max()`, which means
// never, and what is too far below 0 is `min()`.

namespace corewise {

namespace detail {

template <class Rep, class Period>
constexpr std::chrono::nanoseconds saturated(std::chrono::duration<Rep, Period> d) noexcept {
  using std::chrono::nanoseconds;
  using factor = std::ratio_divide<Period, std::nano>;
  if constexpr (std::integral<Rep> && factor::den == 1) {
    if (std::cmp_greater(d.count(), nanoseconds::max().count() / factor::num)) return nanoseconds::max();
    if (std::cmp_less(d.count(), nanoseconds::min().count() / factor::num)) return nanoseconds::min();
    return nanoseconds(static_cast<std::int64_t>(d.count()) * factor::num);
  } else {
    constexpr long double limit = 9223372036854775808.0L; // 2^63
    const auto ns = std::chrono::duration<long double, std::nano>(d).count();
    if (ns >= limit) return nanoseconds::max();
    if (ns < -limit) return nanoseconds::min();
    return nanoseconds(ns == ns ? static_cast<std::int64_t>(ns) : 0);
  }
}

} // namespace detail

/// A duration of any unit, in nanoseconds. Not a number: 0.
class any_duration {
 public:
  template <class Rep, class Period>
  constexpr any_duration(std::chrono::duration<Rep, Period> d) noexcept : ns_(detail::saturated(d)) {}

  constexpr operator std::chrono::nanoseconds() const noexcept { return ns_; }

 private:
  std::chrono::nanoseconds ns_;
};

/// A moment of the steady clock, of any unit.
class any_moment {
 public:
  using clock = detail::monotonic;

  template <class Duration>
  constexpr any_moment(std::chrono::time_point<clock, Duration> t) noexcept
      : at_(detail::saturated(t.time_since_epoch())) {}

  constexpr operator clock::time_point() const noexcept { return at_; }
  constexpr std::chrono::nanoseconds time_since_epoch() const noexcept { return at_.time_since_epoch(); }
  friend constexpr bool operator==(const any_moment&, const any_moment&) noexcept = default;

 private:
  clock::time_point at_;
};

/// Returns the moment `d` after `now`.
constexpr any_moment later(any_moment now, any_duration d) noexcept {
  using time_point = any_moment::clock::time_point;
  const std::chrono::nanoseconds by = d;
  const std::chrono::nanoseconds at = time_point(now).time_since_epoch();
  if (by.count() > 0 && at > std::chrono::nanoseconds::max() - by) return time_point::max();
  if (by.count() < 0 && at < std::chrono::nanoseconds::min() - by) return time_point::min();
  return time_point(at + by);
}

/// Returns the moment `d` from now, for the deadline of a hint.
inline any_moment from_now(any_duration d) noexcept { return later(any_moment::clock::now(), d); }

} // namespace corewise
