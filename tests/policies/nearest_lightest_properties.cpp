#include "any_situation.hpp"

#include <doctest/doctest.h>

// Checks the fast answer of `nearest_lightest` against trying all workers. RC_PARAMS sets the number of
// machines and the seed ("max_success=20000 seed=1"); rapidcheck prints both.

using namespace corewise;
using namespace corewise::tests;

namespace {

constexpr int states_per_machine = 40;

bool same(const placement& a, const placement& b) {
  return a.worker == b.worker && a.group == b.group && a.level == b.level && a.score == b.score &&
         a.cost == b.cost && a.reason == b.reason;
}

void check_answer(situation& s) {
  const task_origin origin = any_origin(s);
  const placement_hint hint = one_in(2) ? placement_hint{} : any_hint(s);
  s.task_time_ns = *rc::gen::elementOf(std::vector<std::uint64_t>{0, 1, 999, 1000, 49'999, 50'000, 50'001,
                                                                  100'000, 1'000'000, 60'000'000'000});
  const placement fast = s.place(origin, hint);
  const placement plain = s.by_trying_all(origin, hint);
  if (!same(fast, plain))
    RC_FAIL(describe(origin) + "; " + describe(hint) + "\n answered: " + describe(fast) +
            "\n the rule: " + describe(plain));
}

/// Checks that a worker keeps unasked only what it would keep if it asked.
void check_keeping(situation& s) {
  const task_origin origin = any_origin(s);
  if (!origin.worker) return;
  s.task_time_ns = *rc::gen::elementOf(std::vector<std::uint64_t>{999, 1000, 50'000, 200'000, 10'000'000});
  const std::optional<std::uint32_t> most = s.rule().keeps_up_to(s.view(), origin);
  if (!most) return;
  s.boards().set_unavailable(*origin.worker, false);
  s.boards().set_load(*origin.worker, std::min(*most, 1 + below(4)));
  const placement asked = s.place(origin);
  if (asked.worker != *origin.worker)
    RC_FAIL(describe(origin) + " keeps up to " + std::to_string(*most) + "\n answered: " + describe(asked));
}

void check_machine(const made_machine& made) {
  const grouping_options grouping{static_cast<domain_kind>(below(5)), below(6)};
  situation s(build(made), any_weights(), any_workers(), grouping);
  for (int i = 0; i < states_per_machine; ++i) {
    any_loads(s);
    check_answer(s);
    check_keeping(s);
  }
}

} // namespace

TEST_CASE("nearest_lightest: on regular machines it gives the answer of a try of all workers") {
  CHECK(rc::check([] { check_machine(any_regular_machine()); }));
}

TEST_CASE("nearest_lightest: on odd machines it gives the answer of a try of all workers") {
  CHECK(rc::check([] { check_machine(any_odd_machine()); }));
}

TEST_CASE("nearest_lightest: its answer is the cheapest of the workers that it considers") {
  CHECK(rc::check([] {
    situation s(build(any_regular_machine()), any_weights(), any_workers());
    any_loads(s);
    const task_origin origin = any_origin(s);
    const placement_hint hint = one_in(2) ? placement_hint{} : any_hint(s);
    const placement chosen = s.place(origin, hint);
    bool seen = false;
    for (const considered& c : s.considering(origin, hint)) {
      RC_ASSERT(c.score + c.penalty >= chosen.cost);
      RC_ASSERT(s.workers()[c.lightest].group == c.group);
      if (c.lightest == chosen.worker) seen = c.score == chosen.score && c.score + c.penalty == chosen.cost;
    }
    RC_ASSERT(seen);
  }));
}
