#include "made_machine.hpp"
#include "situation.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

using namespace corewise;
using namespace corewise::tests;

namespace {

constexpr int draws = 12'000;

/// How often each worker is chosen.
std::vector<int> chosen(situation& s, const placement_hint& hint = {}) {
  std::vector<int> times(s.workers().size());
  for (int i = 0; i < draws; ++i) ++times[s.place_next(s.on_cpu(0), hint).worker.value];
  return times;
}

bool about(int times, double share) { return std::abs(times - share * draws) < .02 * draws; }

} // namespace

TEST_CASE("two choices: with two workers both are always compared") {
  situation s(build(one_kind(1, 2)), "two_choices");
  s.boards().set_load({0}, 5);
  CHECK(chosen(s) == std::vector<int>{0, draws});
  s.load(0, 1, 0);
  s.boards().set_load({1}, 5);
  CHECK(chosen(s) == std::vector<int>{draws, 0});
}

TEST_CASE("two choices: only the loads of the two workers decide") {
  constexpr std::uint32_t workers = 12;
  situation s(build(one_kind(3, 4)), "two_choices");
  s.load(0, workers - 1, 5);
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    const auto chosen_now = [&] {
      placement_rng rng(seed);
      placement_cursor cursor;
      return s.rule().place(s.view(), s.on_cpu(0), {}, rng, cursor).worker;
    };
    const worker_id as_all_are_equal = chosen_now();
    int matter = 0;
    for (std::uint32_t w = 0; w < workers; ++w) {
      std::vector<worker_id> answers;
      for (const std::uint32_t load : {1U, 9U}) {
        s.boards().set_load({w}, load);
        answers.push_back(chosen_now());
      }
      s.boards().set_load({w}, 5);
      const bool looked_at = answers != std::vector<worker_id>(2, as_all_are_equal);
      matter += looked_at ? 1 : 0;
      if (looked_at) CHECK(answers[0] == worker_id{w}); // the lighter one is taken
    }
    CHECK(matter == 2);
  }
}

TEST_CASE("two choices: the two are distinct, and each pair is equally likely") {
  situation s(build(one_kind(2, 2)), "two_choices");
  for (std::uint32_t w = 0; w < 4; ++w) s.boards().set_load({w}, w + 1);
  const std::vector<int> times = chosen(s); // of the six pairs
  CHECK(about(times[0], 3 / 6.));
  CHECK(about(times[1], 2 / 6.));
  CHECK(about(times[2], 1 / 6.));
  CHECK(times[3] == 0);
}

TEST_CASE("two choices: ties go to the first drawn") {
  situation s(build(one_kind(1, 4)), "two_choices");
  s.load(0, 3, 3);
  placement_rng rng(5);
  placement_cursor cursor;
  for (int i = 0; i < 1000; ++i) {
    const auto both = s.rule().consider(s.view(), s.on_cpu(0), {}, rng, cursor);
    REQUIRE(both.size() == 2);
    REQUIRE(both[0].lightest != both[1].lightest);
    REQUIRE(s.rule().place(s.view(), s.on_cpu(0), {}, rng, cursor).worker == both[0].lightest);
  }
  for (const int times : chosen(s)) CHECK(about(times, 1 / 4.));
}

TEST_CASE("two choices: queued tasks and the LIFO slot count, the running task does not") {
  situation s(build(one_kind(1, 2)), "two_choices");
  s.boards().set_load({0}, worker_load{0, 1, 0});
  s.boards().set_load({1}, worker_load{0, 0, 1});
  CHECK(chosen(s)[0] == 0);
  s.boards().set_load({1}, worker_load{2, 0, 0});
  CHECK(chosen(s)[1] == 0);
  const placement p = s.place(s.on_cpu(0));
  CHECK(p.score == 1);
  CHECK(p.cost == 1);
  CHECK(p.reason == placement_reason::lighter_of_two);
}

TEST_CASE("two choices: a single worker is the choice") {
  situation s(build(one_kind(1, 1)), "two_choices");
  CHECK(chosen(s) == std::vector<int>{draws});
  CHECK(s.rule().consider(s.view(), s.on_cpu(0), {}, placement_rng(1), {}).size() == 1);
}

TEST_CASE("two choices: a worker in a blocking call is drawn again") {
  situation s(build(one_kind(2, 20)), "two_choices");
  for (std::uint32_t w = 0; w < 40; ++w) s.boards().set_unavailable({w}, w != 3 && w != 30 && w != 31);
  s.boards().set_load({30}, 9);
  s.boards().set_load({31}, 8);
  const std::vector<int> times = chosen(s);
  CHECK(about(times[3], 2 / 3.));
  CHECK(about(times[31], 1 / 3.));
  CHECK(times[3] + times[31] == draws);
  s.boards().set_unavailable({3});
  CHECK(chosen(s)[31] == draws);
  s.boards().set_unavailable({31});
  CHECK(chosen(s)[30] == draws);
  s.boards().set_unavailable({30});
  s.load(0, 38, 9);
  CHECK(about(chosen(s)[39], 2 / 40.)); // as if all were available: the share of its pairs
}

TEST_CASE("two choices: a hint leaves two of the workers that it allows") {
  situation s(build(one_kind(3, 2)), "two_choices");
  placement_hint hint;
  hint.package = 1;
  s.boards().set_load({2}, 5);
  CHECK(chosen(s, hint)[3] == draws);
  CHECK(s.place(s.on_cpu(0), hint).reason == placement_reason::hinted);
  s.boards().set_unavailable({3});
  CHECK(chosen(s, hint)[2] == draws);
  s.boards().set_unavailable({2});
  CHECK(s.place(s.on_cpu(0), hint).reason == placement_reason::lighter_of_two);
}
