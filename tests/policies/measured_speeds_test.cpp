#include "made_machine.hpp"

#include <corewise/policies/measured_speeds.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace corewise;
using namespace corewise::tests;

namespace {

/// Groups 0 and 1 of fast cores, and group 2 of cores of which the machine says that they have six tenths of the speed.
locality_groups three_groups() {
  made_machine machine;
  machine.cores = {{"0", 0, 0, 0, 1}, {"1", 1, 1, 1, 1}, {"2", 1, 1, 1, 0}};
  machine.capacities = {614, full_capacity};
  return locality_groups(build(machine), {});
}

/// An engine that runs tasks on groups with those speeds, in parts of the fastest, and looks once a second.
class measured_engine {
 public:
  explicit measured_engine(std::vector<double> real, locality_groups machine = three_groups())
      : groups(std::move(machine)),
        real_(std::move(real)) {}

  /// Each group runs so many tasks of a kind, which take `mean_ns` or, one of ten, thirty times as long.
  void run(std::size_t kind, double mean_ns, int tasks) {
    for (std::size_t g = 0; g < groups.size(); ++g) run_on(g, kind, mean_ns, tasks);
  }
  void run_on(std::size_t g, std::size_t kind, double mean_ns, int tasks) {
    if (kind >= seen_.size()) seen_.resize(kind + 1, std::vector<log_times>(groups.size()));
    std::lognormal_distribution<double> spread(0, 1);
    for (int i = 0; i < tasks; ++i) {
      const double ns = mean_ns * spread(random_) * (random_() % 10 == 0 ? 30 : 1) / real_[g];
      seen_[kind][g].add(std::chrono::nanoseconds{static_cast<std::int64_t>(ns)});
    }
    speeds.take(kind, {static_cast<std::uint32_t>(g)}, seen_[kind][g]);
  }
  void look(const std::vector<std::uint32_t>& allowed = {}) {
    speeds.learn(allowed, now_ += std::chrono::seconds{1});
  }
  /// Looks 60 times, each time after only those groups have run tasks of one kind.
  void look_after_runs_on(std::initializer_list<std::size_t> some) {
    for (int looks = 0; looks < 60; ++looks) {
      for (const std::size_t g : some) run_on(g, 0, 20'000, 300);
      look();
    }
  }
  void rest(std::chrono::nanoseconds time) { now_ += time; }
  void become(std::vector<double> real) { real_ = std::move(real); }
  std::uint32_t percent(std::size_t g) const { return speeds.percent()[g]; }

  const locality_groups groups;
  measured_speeds speeds{groups};

 private:
  std::vector<double> real_;
  std::vector<std::vector<log_times>> seen_;
  std::chrono::nanoseconds now_{0};
  std::mt19937 random_{7};
};

bool about(std::uint32_t percent, double expected) { return std::abs(percent - expected) <= .12 * expected; }

} // namespace

TEST_CASE("measured speeds: cores that are slower than the machine says are found out, slowly") {
  measured_engine e({1, 1, .4});
  for (int look = 0; look < 60; ++look) {
    const std::uint32_t before = e.percent(2);
    e.run(0, 20'000, 300);
    e.run(1, 500'000, 100);
    e.look();
    CHECK(before <= e.percent(2) + 20); // a part of the difference of 33 at a time
  }
  CHECK(e.percent(0) >= 95);
  CHECK(e.percent(1) >= 95);
  CHECK(about(e.percent(2), 100 * .4 / .6));
}

TEST_CASE("measured speeds: few samples lead there as well, later") {
  measured_engine e({1, 1, .4});
  for (int look = 0; look < 60; ++look) e.run(0, 20'000, 2), e.look();
  CHECK(e.percent(2) == 100); // not certain yet
  for (int look = 0; look < 2'000; ++look) e.run(0, 20'000, 2), e.look();
  CHECK(e.percent(2) >= 60);
  CHECK(e.percent(2) <= 80); // less exact with fewer
}

TEST_CASE("measured speeds: cores that are faster than the machine says are found out, and none has more "
          "than the fastest") {
  measured_engine faster({1, 1, .9});
  for (int look = 0; look < 60; ++look) faster.run(0, 20'000, 300), faster.look();
  CHECK(about(faster.percent(2), 100 * .9 / .6));
  measured_engine fastest({.8, .8, 1});
  for (int look = 0; look < 60; ++look) fastest.run(0, 20'000, 300), fastest.look();
  CHECK(about(fastest.percent(0), 80));
  CHECK(fastest.percent(2) == 165); // 614 * 1.65 = 1013
}

TEST_CASE("measured speeds: of two groups that the machine says are equal the throttled one is found out") {
  measured_engine e({1, .5, .6});
  for (int look = 0; look < 60; ++look) e.run(0, 20'000, 300), e.look();
  CHECK(about(e.percent(0), 100));
  CHECK(about(e.percent(1), 50));
  CHECK(about(e.percent(2), 100));
  e.become({1, 1, .6});
  for (int look = 0; look < 200; ++look) e.run(0, 20'000, 300), e.look();
  CHECK(about(e.percent(1), 100));
}

TEST_CASE("measured speeds: a group without tasks keeps what the machine says, and others need no group of "
          "the fastest") {
  measured_engine e({1, .5, .6});
  e.look_after_runs_on({0, 1});
  CHECK(about(e.percent(0), 100));
  CHECK(about(e.percent(1), 50));
  CHECK(e.percent(2) == 100);

  measured_engine slow({1, 1, .3});
  slow.look_after_runs_on({1, 2});
  CHECK(about(slow.percent(1), 100));
  CHECK(about(slow.percent(2), 50));
}

TEST_CASE("measured speeds: what the host says is not measured again, at no look") {
  for (const std::size_t limited : {std::size_t{0}, std::size_t{1}}) {
    CAPTURE(limited);
    std::vector<double> real{1, 1, .6};
    measured_engine e(real);
    std::vector<std::uint32_t> allowed{100, 100, 100};
    for (int look = 0; look < 100; ++look) {
      e.run(0, 20'000, 300);
      if (look % 40 == 19) { // from then on, half the speed, or again all of it
        real[limited] = 1.5 - real[limited];
        allowed[limited] = 150 - allowed[limited];
        e.become(real);
      }
      e.look(allowed);
      for (std::size_t g = 0; g < 3; ++g) CHECK(e.percent(g) == 100);
    }
  }
}

TEST_CASE("measured speeds: of a run that was seen in part the rest counts at the next look") {
  const locality_groups groups = three_groups();
  measured_speeds speeds(groups);
  std::vector<log_times> all(3);
  for (int look = 1; look <= 200; ++look) {
    for (std::uint32_t g = 0; g < 3; ++g) {
      for (int i = 0; i < 10; ++i) all[g].add(std::chrono::microseconds{g == 2 ? 333 : 200});
      log_times seen = all[g];
      if (g == 2) { // of these the last run is counted, and its time has not come yet
        log_times last;
        last.add(std::chrono::microseconds{333});
        seen.sum -= last.sum;
        seen.squares -= last.squares;
      }
      speeds.take(0, {g}, seen);
    }
    speeds.learn({}, std::chrono::seconds{2 * look});
    for (std::uint32_t g = 0; g < 3; ++g) speeds.take(0, {g}, all[g]);
    speeds.learn({}, std::chrono::seconds{2 * look + 1});
  }
  CHECK(about(speeds.percent()[2], 100)); // without these rests its tasks would seem shorter
}

TEST_CASE("measured speeds: nothing is corrected by tasks that are not alike, or by very short ones") {
  measured_engine unlike({1, 1, .6});
  for (int look = 0; look < 60; ++look) {
    for (std::size_t g = 0; g < 3; ++g) unlike.run_on(g, g == 2 ? 1 : 0, g == 2 ? 900'000 : 10'000, 300);
    unlike.look();
  }
  CHECK(unlike.percent(2) == 100);

  measured_engine short_ones({1, 1, .1});
  for (int look = 0; look < 60; ++look) short_ones.run(0, 100, 300), short_ones.look();
  CHECK(short_ones.percent(2) == 100);
}

TEST_CASE("measured speeds: equal groups stay equal, however long chance plays with them") {
  made_machine machine;
  for (std::uint32_t i = 0; i < 16; ++i) machine.cores.push_back({std::to_string(i), i, i, i, 0});
  for (const int samples : {5, 75}) {
    CAPTURE(samples);
    measured_engine e(std::vector<double>(16, 1), locality_groups(build(machine), {}));
    int changes = 0;
    for (int look = 0; look < 500; ++look) {
      const std::vector<std::uint32_t> before(e.speeds.percent().begin(), e.speeds.percent().end());
      e.run(0, 20'000, samples);
      e.look();
      changes += before != std::vector<std::uint32_t>(e.speeds.percent().begin(), e.speeds.percent().end());
    }
    CHECK(changes <= 2);
    for (const std::uint32_t p : e.speeds.percent()) CHECK(p >= 95);
  }
}

TEST_CASE("measured speeds: of a group that runs nothing for long it goes back to what the machine says") {
  measured_engine e({1, .5, .6});
  for (int look = 0; look < 60; ++look) e.run(0, 20'000, 300), e.look();
  REQUIRE(about(e.percent(1), 50));
  for (int i = 0; i < 20; ++i) {
    e.run_on(0, 0, 20'000, 300);
    e.rest(std::chrono::minutes{5});
    e.look();
  }
  CHECK(e.percent(1) >= 95);
}
