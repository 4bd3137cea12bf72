#include "made_machine.hpp"
#include "situation.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace corewise;
using namespace corewise::tests;

namespace {

std::vector<std::uint32_t> turns(situation& s, int count, const placement_hint& hint = {}) {
  std::vector<std::uint32_t> workers;
  for (int i = 0; i < count; ++i) workers.push_back(s.place_next(s.on_cpu(0), hint).worker.value);
  return workers;
}

using order = std::vector<std::uint32_t>;

} // namespace

TEST_CASE("round robin: all workers have their turn, at any load") {
  situation s(build(one_kind(2, 2)), "round_robin");
  s.boards().set_load({1}, 100);
  CHECK(turns(s, 10) == order{0, 1, 2, 3, 0, 1, 2, 3, 0, 1});
  CHECK(s.place(s.on_worker(3)).worker.value == 0); // a cursor of its own
  CHECK(s.place(s.on_worker(3)).reason == placement_reason::next_in_turn);
  CHECK(s.place(s.on_worker(3)).level == level::cross_package);
  CHECK(s.place(s.on_worker(3)).cost == 0);
}

TEST_CASE("round robin: workers in blocking calls are skipped, unless all workers are") {
  situation s(build(one_kind(1, 5)), "round_robin");
  s.boards().set_unavailable({0});
  s.boards().set_unavailable({3});
  CHECK(turns(s, 7) == order{1, 2, 4, 1, 2, 4, 1});
  for (std::uint32_t w = 0; w < 5; ++w) s.boards().set_unavailable({w});
  CHECK(turns(s, 7) == order{2, 3, 4, 0, 1, 2, 3});
}

TEST_CASE("round robin: hinted tasks rotate among the workers that the hint allows, and do not disturb the "
          "others") {
  situation s(build(one_kind(2, 3)), "round_robin");
  placement_hint hint;
  hint.package = 1;
  CHECK(turns(s, 2) == order{0, 1});
  CHECK(turns(s, 4, hint) == order{3, 4, 5, 3});
  CHECK(turns(s, 2) == order{2, 3});
  s.boards().set_unavailable({4});
  CHECK(turns(s, 4, hint) == order{3, 5, 3, 5});
  CHECK(s.place(s.on_cpu(0), hint).reason == placement_reason::hinted);
  s.boards().set_unavailable({3});
  s.boards().set_unavailable({5});
  CHECK(turns(s, 4, hint) == order{0, 1, 2, 0}); // as good as absent
}

TEST_CASE("round robin: a cursor from a larger machine works") {
  situation s(build(one_kind(1, 3)), "round_robin");
  placement_rng rng(1);
  placement_cursor cursor{0xFFFFFFFFU, 0xFFFFFFFFU};
  const auto next = [&] { return s.rule().place(s.view(), s.on_cpu(0), {}, rng, cursor).worker.value; };
  const std::uint32_t first = next();
  CHECK(first < 3);
  CHECK(next() == (first + 1) % 3);
}
