#include <corewise/policies/any_duration.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <limits>

using namespace corewise;
using namespace std::chrono;
using namespace std::chrono_literals;

namespace {

constexpr nanoseconds ns(any_duration d) { return d; }

} // namespace

TEST_CASE("any duration: what fits into nanoseconds is exact, and the rest saturates") {
  CHECK(ns(3ns) == 3ns);
  CHECK(ns(-7us) == -7us);
  CHECK(ns(24h) == 24h);
  CHECK(ns(9223372036854775us) == nanoseconds(9223372036854775000));
  CHECK(ns(9223372036854776us) == nanoseconds::max());
  CHECK(ns(-9223372036854776us) == nanoseconds::min());
  CHECK(ns(hours::max()) == nanoseconds::max());
  CHECK(ns(hours::min()) == nanoseconds::min());
  CHECK(ns(years::max()) == nanoseconds::max());
  CHECK(ns(nanoseconds::min()) == nanoseconds::min());
  CHECK(ns(duration<std::uint64_t, std::micro>::max()) == nanoseconds::max());
  CHECK(ns(duration<std::int8_t, std::ratio<3600>>(2)) == 2h);
}

TEST_CASE("any duration: units below a nanosecond, other ratios and floating numbers convert") {
  CHECK(ns(duration<std::int64_t, std::pico>(4999)) == 4ns);
  CHECK(ns(duration<std::int64_t, std::ratio<1, 3>>(3)) == 1s);
  CHECK(ns(duration<std::int64_t, std::ratio<1, 3>>::max()) == nanoseconds::max());
  CHECK(ns(duration<double>(1.5)) == 1500ms);
  CHECK(ns(duration<double>(-1e300)) == nanoseconds::min());
  CHECK(ns(duration<float>(std::numeric_limits<float>::infinity())) == nanoseconds::max());
  CHECK(ns(duration<double>(std::numeric_limits<double>::quiet_NaN())) == 0ns);
}

TEST_CASE("any moment: moments of any unit saturate, and adding to one does as well") {
  using clock = steady_clock;
  const auto at = [](any_moment m) { return clock::time_point(m); };
  CHECK(at(time_point<clock, hours>::max()) == clock::time_point::max());
  CHECK(at(time_point<clock, hours>::min()) == clock::time_point::min());
  CHECK(at(time_point<clock, seconds>(5s)) == clock::time_point(5s));
  CHECK(at(later(clock::time_point(5s), 2s)) == clock::time_point(7s));
  CHECK(at(later(clock::time_point(5s), hours::max())) == clock::time_point::max());
  CHECK(at(later(clock::time_point(-5s), hours::min())) == clock::time_point::min());
  CHECK(at(later(clock::time_point::max(), -1s)) == clock::time_point::max() - 1s);
  CHECK(at(from_now(minutes::max())) == clock::time_point::max());
}
