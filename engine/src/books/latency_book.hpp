#pragma once

#include "base/clock.hpp"

#include <corewise/policies/detail/atomic.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace corewise::detail {

/// The last latencies of requests, by how many others were in flight when each began. Up to 16 each number has
/// a shelf of its own; above, four shelves share an octave. A shelf holds the last 16 latencies.
///
/// A latency is one word, with the time at which it was written. All of it is relaxed: a reader needs no two
/// words of one moment. Call from any thread.
class latency_book {
 public:
  static constexpr std::chrono::seconds memory{10}; ///< older latencies do not count
  static constexpr std::size_t enough = 4;          ///< so many make a median

  void add(std::uint64_t in_flight, std::chrono::nanoseconds latency, monotonic::time_point now) noexcept {
    shelf& at = shelves_[shelf_of(in_flight)];
    const std::uint32_t turn = at.next.fetch_add(1, std::memory_order_relaxed);
    const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(latency.count(), 1));
    at.latencies[turn % per_shelf].store(stamp(now) << latency_bits | std::min(ns, longest),
                                         std::memory_order_relaxed);
  }

  /// Returns the median of what is on the shelf of that number and, while these are less than enough, on the
  /// nearest ones above and below. Nothing: no shelf has any.
  std::optional<std::chrono::nanoseconds> median_near(std::uint64_t in_flight,
                                                      monotonic::time_point now) const noexcept {
    const std::size_t middle = shelf_of(in_flight);
    std::array<std::uint64_t, enough + 2 * per_shelf> found{};
    std::size_t n = 0;
    for (std::size_t away = 0; away < shelves && n < enough; ++away) {
      if (middle + away < shelves) n = collect(shelves_[middle + away], now, found.data(), n);
      if (away != 0 && middle >= away) n = collect(shelves_[middle - away], now, found.data(), n);
    }
    if (n == 0) return std::nullopt;
    const auto half = found.begin() + static_cast<std::ptrdiff_t>((n - 1) / 2);
    std::nth_element(found.begin(), half, found.begin() + static_cast<std::ptrdiff_t>(n));
    return std::chrono::nanoseconds{static_cast<std::int64_t>(*half)};
  }

 private:
  static constexpr std::size_t alone = 16; ///< numbers with a shelf of their own
  static constexpr std::size_t shelves = alone + 16 * 4;
  static constexpr std::size_t per_shelf = 16;
  static constexpr unsigned latency_bits = 40; ///< 18 minutes
  static constexpr unsigned stamp_shift = 26;  ///< 67 ms; 24 bits of such wrap in 13 days
  static constexpr std::uint64_t longest = (std::uint64_t{1} << latency_bits) - 1;
  static constexpr std::uint64_t stamps = std::uint64_t{1} << (64 - latency_bits);

  struct shelf {
    atomic<std::uint32_t> next{0};
    std::array<atomic<std::uint64_t>, per_shelf> latencies{}; // 0: none
  };

  static std::size_t shelf_of(std::uint64_t in_flight) noexcept {
    if (in_flight < alone) return static_cast<std::size_t>(in_flight);
    const auto octave = static_cast<unsigned>(std::bit_width(in_flight)) - 5; // 16 to 31: 0
    const auto quarter = static_cast<std::size_t>(in_flight >> (octave + 2)) % 4;
    return std::min(alone + octave * std::size_t{4} + quarter, shelves - 1);
  }
  static std::uint64_t stamp(monotonic::time_point at) noexcept {
    return (static_cast<std::uint64_t>(at.time_since_epoch().count()) >> stamp_shift) % stamps;
  }
  static std::size_t collect(const shelf& from, monotonic::time_point now, std::uint64_t* to,
                             std::size_t n) noexcept {
    constexpr auto most = static_cast<std::uint64_t>(std::chrono::nanoseconds{memory}.count()) >> stamp_shift;
    for (const auto& word : from.latencies) {
      const std::uint64_t seen = word.load(std::memory_order_relaxed);
      if (seen != 0 && (stamp(now) - (seen >> latency_bits)) % stamps <= most) to[n++] = seen & longest;
    }
    return n;
  }

  std::array<shelf, shelves> shelves_;
};

} // namespace corewise::detail
