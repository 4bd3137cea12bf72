#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

// Measures how long an operation takes, in rounds: after a warm-up each round repeats a *pass* of many
// operations until it has taken long enough. `corewise run` and the programs in bench/ measure by this, so
// that their figures compare.

namespace corewise::command {

inline constexpr std::chrono::milliseconds warm_up{300};
inline constexpr std::chrono::milliseconds round_time{50};

struct measured {
  std::vector<double> ns_per_op; ///< of each round, sorted
  std::uint64_t ops = 0;
  std::uint64_t all_ops = 0; ///< with those of the warm-up
  std::uint64_t seen = 0;    ///< operations that were seen done
  std::chrono::nanoseconds wall{0};

  /// The value below which `part` of the rounds lie: the nearest of the rounds' values.
  double quantile(double part) const {
    const auto last = static_cast<double>(ns_per_op.size() - 1);
    return ns_per_op[static_cast<std::size_t>(std::lround(part * last))];
  }
};

/// Repeats `pass()`, which does `ops` operations, until that has taken `at_least`. `seen(answer of a pass)`,
/// which is not in the time, returns how many operations were done.
template <class Pass, class Seen>
void run_round(std::uint64_t ops, Pass& pass, Seen& seen, std::chrono::nanoseconds at_least, measured& into) {
  using clock = std::chrono::steady_clock;
  std::chrono::nanoseconds took{0};
  std::uint64_t done = 0;
  while (took < at_least) {
    const auto began = clock::now();
    const std::uint64_t answer = pass();
    took += clock::now() - began;
    into.seen += seen(answer);
    done += ops;
  }
  into.ops += done;
  into.wall += took;
  into.ns_per_op.push_back(static_cast<double>(took.count()) / static_cast<double>(done));
}

/// Runs a warm-up, then so many rounds. Throws `std::runtime_error` when an operation was not seen done.
template <class Pass, class Seen>
measured measure_rounds(std::uint64_t ops, Pass pass, Seen seen, std::uint32_t rounds) {
  measured warm;
  run_round(ops, pass, seen, warm_up, warm);
  measured result;
  for (std::uint32_t i = 0; i < rounds; ++i) run_round(ops, pass, seen, round_time, result);
  std::ranges::sort(result.ns_per_op);
  result.all_ops = warm.ops + result.ops;
  if (warm.seen != warm.ops || result.seen != result.ops)
    throw std::runtime_error("lost work: " + std::to_string(warm.seen + result.seen) + " of " +
                             std::to_string(result.all_ops) + " operations were seen done");
  return result;
}

} // namespace corewise::command
