#pragma once

#include <corewise/topology/groups.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

// How fast the cores of each group really are, by the times that like tasks take there. Where the machine tells its
// capacities wrongly, as virtual machines and neighbours of a cloud make it do, the policies may go by these (ADR 0069).
//
// Times of tasks spread over orders of magnitude, so their logarithms are compared: on a core that is half as fast as it
// is said to be, each of them is larger by one. The comparison is of tasks of one kind, and its error is known from how far
// they spread. A group is corrected only where a difference is certain, and slowly: by a quarter of it at a time.

namespace corewise {

/// The times that tasks of one kind took on one group: of the logarithms, to base 2, of the times in ns, in units of
/// 1 / `unit`.
struct log_times {
  static constexpr double unit = 256;

  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t squares = 0; ///< the sum of their squares

  void add(std::chrono::nanoseconds time) noexcept {
    const std::uint64_t log = log_of(time);
    ++count, sum += log, squares += log * log;
  }
  /// Returns the logarithm of a time, at least 1 ns, in units.
  static std::uint64_t log_of(std::chrono::nanoseconds time) noexcept;
};

/// Call from one thread at a time.
class measured_speeds {
 public:
  /// `groups` must outlive this.
  explicit measured_speeds(const locality_groups& groups);

  /// Takes what has been counted since the start of tasks of that kind on that group. Kinds are numbered from 0 on.
  /// Throws `std::bad_alloc`.
  void take(std::size_t kind, group_id g, const log_times& so_far);
  /// Corrects the speeds by what was taken. `allowed`: the percent of its speed that the host allows each group, empty:
  /// all; what the host says is not measured again. `now`: a time that grows. Cost: some ns for each kind and group. Throws
  /// `std::bad_alloc`.
  void learn(std::span<const std::uint32_t> allowed, std::chrono::nanoseconds now);
  /// Returns the part of its capacity that each group has, in percent, in steps of five; no group has more than the
  /// capacity of the fastest kind. 100, until there is a correction.
  std::span<const std::uint32_t> percent() const noexcept { return percent_; }

 private:
  /// The logarithms of like tasks on a group, less those that its capacity explains; older ones count less.
  struct evidence {
    double count = 0;
    double sum = 0;
    double squares = 0;

    void add(const log_times& before, const log_times& now, double capacity_log2) noexcept;
    void fade() noexcept;
    bool enough() const noexcept { return count >= 30; }
    double mean() const noexcept { return sum / count; }
    double variance_of_mean() const noexcept;
  };
  struct cell {
    log_times seen;
    log_times newest;
    evidence of;
  };
  struct group {
    double capacity_log2 = 0; // as it is said
    double speed_log2 = 0;    // real / said
    double fresh = 0;         // evidence that came since its last correction
    std::chrono::nanoseconds seen_at{0};
    bool measured = false;
    bool differs = false; // for certain, at its last correction
  };
  struct difference {
    double log2 = 0;
    double certainty = 0; // 1 / variance
  };

  std::vector<difference> differences() const;
  double fastest_off() const;
  bool correct(const std::vector<difference>& by);
  void forget(std::chrono::nanoseconds now);
  void show();

  const locality_groups& groups_;
  std::vector<group> by_group_;
  std::vector<std::vector<cell>> kinds_; // by kind and group
  std::vector<std::uint32_t> allowed_;   // until the last call of `learn`
  std::vector<std::uint32_t> percent_;
};

} // namespace corewise
