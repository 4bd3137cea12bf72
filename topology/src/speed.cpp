#include "speed.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace corewise::detail {
namespace {

std::optional<double> ratio(std::uint32_t a, std::uint32_t b) {
  if (a == 0 || b == 0) return std::nullopt;
  return static_cast<double>(a) / b;
}

} // namespace

std::optional<double> speed_ratio(const cpu_traits& a, const cpu_traits& b) {
  if (const auto capacity = ratio(a.capacity, b.capacity)) return capacity;
  const auto max = ratio(a.max_mhz, b.max_mhz);
  const auto base = ratio(a.base_mhz, b.base_mhz);
  if (const auto nominal = ratio(a.nominal, b.nominal))
    return max && base ? std::max(*nominal, std::sqrt(*max * *base)) : nominal;
  if (max && base) return std::max(*max, *base);
  return max ? max : base;
}

bool slower(const cpu_traits& a, const cpu_traits& b) {
  const auto speed = [](const cpu_traits& t) {
    return std::tuple(t.capacity, t.nominal, t.max_mhz, t.base_mhz, t.rank);
  };
  return speed(a) < speed(b);
}

double type_factor(const cpu_traits& traits) {
  if (traits.core_type == "atom") return .6;
  if (traits.core_type == "lowpower") return .4;
  if (traits.core_type == "dense") return .75;
  return 1;
}

std::uint32_t clock_mhz(const cpu_traits& traits) {
  return traits.max_mhz != 0 ? traits.max_mhz : traits.base_mhz;
}

} // namespace corewise::detail
