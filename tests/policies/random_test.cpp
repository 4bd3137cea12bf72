#include "made_machine.hpp"
#include "situation.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <vector>

using namespace corewise;
using namespace corewise::tests;

namespace {

std::vector<int> drawn(situation& s, int draws, const placement_hint& hint = {}) {
  std::vector<int> times(s.workers().size());
  for (int i = 0; i < draws; ++i) ++times[s.place_next(s.on_cpu(0), hint).worker.value];
  return times;
}

} // namespace

TEST_CASE("random: each available worker is equally likely, at any load") {
  situation s(build(one_kind(2, 5)), "random");
  s.boards().set_load({2}, 100);
  for (const int times : drawn(s, 10'000)) CHECK(std::abs(times - 1000) < 150);
  for (const std::uint32_t w : {0U, 4U, 9U}) s.boards().set_unavailable({w});
  const std::vector<int> times = drawn(s, 7'000);
  for (const std::uint32_t w : {0U, 4U, 9U}) CHECK(times[w] == 0);
  for (const std::uint32_t w : {1U, 2U, 3U, 5U, 6U, 7U, 8U}) CHECK(std::abs(times[w] - 1000) < 150);
  CHECK(s.place(s.on_cpu(0)).reason == placement_reason::drawn);
  CHECK(s.place(s.on_cpu(0)).cost == 0);
}

TEST_CASE("random: two available workers among many are found, and equally likely") {
  situation s(build(one_kind(1, 200)), {}, {}, grouping_options{domain_kind::llc, 0},
              "random"); // wider than a word of bits
  for (std::uint32_t w = 0; w < 200; ++w) s.boards().set_unavailable({w}, w != 3 && w != 170);
  const std::vector<int> times = drawn(s, 2'000);
  CHECK(times[3] + times[170] == 2'000);
  CHECK(std::abs(times[3] - 1'000) < 150);
  s.boards().set_unavailable({3});
  s.boards().set_unavailable({170});
  for (const int n : drawn(s, 20'000)) CHECK(std::abs(n - 100) < 60);
}

TEST_CASE("random: a hint leaves the workers that it allows") {
  situation s(build(two_hybrid_sockets()), "random");
  placement_hint hint;
  hint.package = 1;
  hint.kind = 0;
  const std::vector<int> times = drawn(s, 8'000, hint);
  for (std::uint32_t w = 0; w < 24; ++w) CHECK(times[w] == 0);
  for (std::uint32_t w = 24; w < 32; ++w) CHECK(std::abs(times[w] - 1000) < 150);
  CHECK(s.place(s.on_cpu(0), hint).reason == placement_reason::hinted);
}
