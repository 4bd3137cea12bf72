#pragma once

#include <corewise/policies/detail/atomic.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

// Load levels: the loads of a group in a byte each, so that sixteen workers are compared in one cache line.
//
// A level is the load itself up to 15, and from there on the load to three binary digits, so a level says
// which workers are worth an exact look. Levels are hints. A thread that changes a load publishes the
// worker's level. The owner does so at every task if tasks are so long that the cost does not matter, else
// from time to time. A thread that sends the worker a task, or takes some away, publishes for it. If two
// threads publish at once the older level may stay until a thread publishes again.
//
// Bytes are written and words of eight bytes are read; both are single accesses on all supported processors.

namespace corewise {

/// The level of a load. Grows with the load.
constexpr std::uint8_t load_level(std::uint32_t load) noexcept {
  if (load < 16) return static_cast<std::uint8_t>(load);
  const auto exponent = static_cast<std::uint32_t>(std::bit_width(load)) - 1;
  return static_cast<std::uint8_t>(16 + (exponent - 4) * 8 + ((load >> (exponent - 3)) & 7));
}

/// From where levels are not exact, a level this much higher stands for twice the load.
inline constexpr std::uint8_t levels_in_a_doubling = 8;

/// The least load of that level.
constexpr std::uint32_t least_load_of(std::uint8_t level) noexcept {
  if (level < 16) return level;
  const std::uint32_t exponent = (level - 16U) / 8 + 4;
  return (8 + (level - 16U) % 8) << (exponent - 3);
}

/// The level of one more task, at least.
constexpr std::uint8_t next_level(std::uint8_t level) noexcept {
  return load_level(least_load_of(level) + 1) > level ? static_cast<std::uint8_t>(level + 1) : level;
}

/// Returns whether all loads of that level are the same.
constexpr bool is_exact(std::uint8_t level) noexcept { return level < 16; }

/// The levels of one group's workers. Any thread.
class load_levels {
 public:
  static constexpr std::uint8_t no_worker = std::numeric_limits<std::uint8_t>::max(); ///< above every level
  static constexpr std::size_t chunk = 16;

  /// Returns how many bytes are needed, at an address that is a multiple of 16.
  static constexpr std::size_t bytes_for(std::size_t workers) noexcept {
    return (workers + chunk - 1) / chunk * chunk;
  }

  /// Gives every worker level 0. The owner keeps `bytes`.
  load_levels(unsigned char* bytes, std::size_t workers) noexcept : bytes_(bytes), workers_(workers) {
    std::fill_n(bytes, bytes_for(workers), no_worker);
    std::fill_n(bytes, workers, std::uint8_t{0});
  }

  std::uint8_t at(std::size_t index) const noexcept {
    return detail::atomic_ref(bytes_[index]).load(std::memory_order_relaxed);
  }

  /// Sets a level. Returns the level before. Cost: a load; a store if the level changes.
  std::uint8_t publish(std::size_t index, std::uint8_t level) noexcept {
    detail::atomic_ref byte(bytes_[index]);
    const std::uint8_t before = byte.load(std::memory_order_relaxed);
    if (before != level) byte.store(level, std::memory_order_relaxed);
    return before;
  }

  /// The least level of some workers, and the workers that have it.
  struct least {
    std::uint8_t level = no_worker;
    std::uint64_t workers = 0; ///< a bit each
  };

  /// Finds the least level of the workers 64b to 64b + 63, less those whose bit is set in `excluded`; bits as
  /// in `worker_bits::word`. Cost: a cache line, 5 ns for 16 workers.
  least least_of(std::size_t b, std::uint64_t excluded) const noexcept {
    least found;
    const std::size_t end = std::min(workers_, b * 64 + 64);
    for (std::size_t first = b * 64; first < end; first += chunk) {
      const auto shift = static_cast<unsigned>(first % 64);
      const least here = least_of_chunk(bytes_ + first, static_cast<std::uint16_t>(excluded >> shift));
      if (here.level > found.level || here.level == no_worker) continue;
      if (here.level < found.level) found = {here.level, 0};
      found.workers |= here.workers << shift;
    }
    return found;
  }

  /// The least level of all; `no_worker` if there is no worker.
  std::uint8_t least_of_all() const noexcept {
    std::uint8_t level = no_worker;
    for (std::size_t b = 0; b * 64 < workers_; ++b) level = std::min(level, least_of(b, 0).level);
    return level;
  }

 private:
  static std::uint64_t word(const unsigned char* at) noexcept {
    return detail::atomic_ref(*reinterpret_cast<std::uint64_t*>(const_cast<unsigned char*>(at)))
        .load(std::memory_order_relaxed);
  }

#if defined(__SSE2__)
  static least least_of_chunk(const unsigned char* at, std::uint16_t excluded) noexcept {
    __m128i levels =
        _mm_set_epi64x(static_cast<std::int64_t>(word(at + 8)), static_cast<std::int64_t>(word(at)));
    if (excluded != 0) levels = _mm_or_si128(levels, bytes_of(excluded));
    __m128i m = _mm_min_epu8(levels, _mm_srli_si128(levels, 8));
    m = _mm_min_epu8(m, _mm_srli_si128(m, 4));
    m = _mm_min_epu8(m, _mm_srli_si128(m, 2));
    m = _mm_min_epu8(m, _mm_srli_si128(m, 1));
    const auto level = static_cast<std::uint8_t>(_mm_cvtsi128_si32(m));
    const int equal = _mm_movemask_epi8(_mm_cmpeq_epi8(levels, _mm_set1_epi8(static_cast<char>(level))));
    return {level, static_cast<std::uint16_t>(equal)};
  }

  /// 255 where a bit is set, else 0.
  static __m128i bytes_of(std::uint16_t bits) noexcept {
    const __m128i low_or_high = _mm_unpacklo_epi64(_mm_set1_epi8(static_cast<char>(bits)),
                                                   _mm_set1_epi8(static_cast<char>(bits >> 8)));
    const __m128i own_bit = _mm_set1_epi64x(static_cast<std::int64_t>(0x8040201008040201ULL));
    return _mm_cmpeq_epi8(_mm_and_si128(low_or_high, own_bit), own_bit);
  }
#else
  static least least_of_chunk(const unsigned char* at, std::uint16_t excluded) noexcept {
    least found;
    for (std::size_t half = 0; half < 2; ++half) {
      const std::uint64_t levels = word(at + half * 8);
      for (std::size_t i = 0; i < 8; ++i) {
        const std::size_t index = half * 8 + i;
        if ((excluded >> index & 1) != 0) continue;
        const std::size_t byte = std::endian::native == std::endian::little ? i : 7 - i;
        const auto level = static_cast<std::uint8_t>(levels >> (byte * 8));
        if (level > found.level) continue;
        if (level < found.level) found = {level, 0};
        found.workers |= std::uint64_t{1} << index;
      }
    }
    return found;
  }
#endif

  unsigned char* bytes_;
  std::size_t workers_;
};

} // namespace corewise
