#include <corewise/policies/score.hpp>

#include <doctest/doctest.h>

#include <array>
#include <deque>
#include <random>
#include <string>

using namespace corewise;

namespace {

/// A server that runs its queue in order, at a speed.
class server {
 public:
  explicit server(std::uint32_t capacity) : capacity_(capacity) {}

  std::uint32_t capacity() const noexcept { return capacity_; }
  std::uint32_t load_at(double now) {
    while (!ends_.empty() && ends_.front() <= now) ends_.pop_front();
    return static_cast<std::uint32_t>(ends_.size());
  }
  /// Takes a task. Returns when it will be done.
  double take(double now, double size) {
    const double begin = ends_.empty() ? now : std::max(now, ends_.back());
    ends_.push_back(begin + size * full_capacity / capacity_);
    return ends_.back();
  }

 private:
  std::uint32_t capacity_;
  std::deque<double> ends_;
};

/// The mean response of tasks of mean size 1 that arrive as a Poisson process at two servers, of speed 1 and
/// `slow`, together loaded to `utilization`. Each task goes where the score is lower.
double mean_response(score_kind kind, std::uint32_t slow, double utilization, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  server fast_server(full_capacity);
  server slow_server(slow);
  std::exponential_distribution<double> gap(utilization * (1 + double(slow) / full_capacity));
  std::exponential_distribution<double> size(1);
  double now = 0;
  double sum = 0;
  constexpr int tasks = 1'000'000;
  for (int i = 0; i < tasks; ++i) {
    now += gap(random);
    const double on_fast = score_of(kind, fast_server.load_at(now), full_capacity);
    const double on_slow = score_of(kind, slow_server.load_at(now), slow);
    const bool slow_wins_tie = kind == score_kind::count && random() % 2 == 0;
    server& chosen = on_slow < on_fast || (on_slow == on_fast && slow_wins_tie) ? slow_server : fast_server;
    sum += chosen.take(now, size(random)) - now;
  }
  return sum / tasks;
}

struct expected_row {
  std::uint32_t slow_capacity;
  double utilization;
  double count, drain_time, expected_delay;
};

} // namespace

TEST_CASE("score: each kind has its formula") {
  CHECK(score_of(score_kind::expected_delay, 0, 1024) == 1);
  CHECK(score_of(score_kind::expected_delay, 0, 512) == 2);
  CHECK(score_of(score_kind::expected_delay, 50, 500) == 51 * 1024.0 / 500);
  CHECK(score_of(score_kind::drain_time, 0, 512) == 0);
  CHECK(score_of(score_kind::drain_time, 3, 512) == 6);
  CHECK(score_of(score_kind::count, 3, 512) == 3);
  CHECK(score_of(score_kind::expected_delay, 4294967295U, 1) == 4398046511104.0); // never wraps
}

TEST_CASE("score: penalties hold in full up to 50 us and shrink beyond") {
  const spill_costs spill{2, 4, 6, 16};
  using all = std::array<double, level_count>;
  CHECK(level_penalties(spill, 0) == all{0, 2, 4, 6, 16});
  CHECK(level_penalties(spill, 50'000) == all{0, 2, 4, 6, 16});
  CHECK(level_penalties(spill, 100'000) == all{0, 1, 2, 3, 8});
}

TEST_CASE("score: two servers of unequal speed respond as queueing theory says, and no score always wins") {
  const std::array table{
      expected_row{512, .7, 3.013, 2.741, 2.885},
      expected_row{256, .3, 2.481, 1.723, 1.561},
      expected_row{256, .7, 4.340, 3.300, 3.550},
      expected_row{614, .7, 2.738, 2.577, 2.597},
  };
  constexpr std::uint64_t seed = 42;
  for (const expected_row& row : table) {
    CAPTURE(row.slow_capacity);
    CAPTURE(row.utilization);
    const auto respond = [&](score_kind kind) {
      return mean_response(kind, row.slow_capacity, row.utilization, seed);
    };
    CHECK(respond(score_kind::count) == doctest::Approx(row.count).epsilon(.02));
    CHECK(respond(score_kind::drain_time) == doctest::Approx(row.drain_time).epsilon(.02));
    CHECK(respond(score_kind::expected_delay) == doctest::Approx(row.expected_delay).epsilon(.02));
  }
}
