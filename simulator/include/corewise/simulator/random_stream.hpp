#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace corewise {

/// xoshiro256++: a stream of random numbers that is the same everywhere for the same seed and name. Each
/// thing that a simulation draws has a stream of its own, so that two profiles meet the same arrivals (common
/// random numbers). Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators",
/// doi:10.1145/3460772.
class random_stream {
 public:
  random_stream(std::uint64_t seed, std::uint64_t name) noexcept {
    std::uint64_t x = seed * 0x9E3779B97F4A7C15ULL + name * 0xD1B54A32D192ED03ULL;
    for (std::uint64_t& word : state_) word = split_mix(x);
  }

  std::uint64_t next() noexcept {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  /// A number in [0, 1).
  double uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  /// A number below `bound`, which is not 0.
  std::uint32_t below(std::uint32_t bound) noexcept {
    return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
  }
  /// An exponential number of mean 1.
  double exponential() noexcept { return -std::log1p(-uniform()); }
  /// A normal number of mean 0 and variance 1 (Box and Muller).
  double normal() noexcept;

 private:
  static std::uint64_t split_mix(std::uint64_t& x) noexcept {
    x += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = x;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  std::uint64_t state_[4];
};

} // namespace corewise
