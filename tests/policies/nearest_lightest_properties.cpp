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
         a.cost == b.cost && a.reason == b.reason && a.repeat == b.repeat;
}

void compare(const situation& s, const task_origin& origin, const placement_hint& hint) {
  const placement fast = s.place(origin, hint);
  const placement plain = s.by_trying_all(origin, hint);
  if (!same(fast, plain))
    RC_FAIL(describe(origin) + "; " + describe(hint) + "\n answered: " + describe(fast) +
            "\n the rule: " + describe(plain));
}

void check_answer(situation& s) {
  const task_origin origin = any_origin(s);
  const placement_hint hint = one_in(2) ? placement_hint{} : any_hint(s);
  s.task_time_ns = *rc::gen::elementOf(std::vector<std::uint64_t>{0, 1, 125, 126, 999, 1000, 1001, 49'999,
                                                                  50'000, 50'001, 100'000, 1'000'000,
                                                                  60'000'000'000, std::uint64_t{1} << 63});
  compare(s, origin, hint);
}

/// How often the worker of the submitter's core came into question, and what became of it.
struct own_cores {
  int chosen = 0;
  int lightest_anyway = 0;
  int twice_as_loaded = 0;
  int unavailable = 0;
  int in_another_group = 0;
  int of_a_sibling = 0; ///< chosen, and the submitter's CPU is not the worker's

  void note(const situation& s, const task_origin& origin) {
    const placement p = s.place(origin);
    const std::optional<worker_id> own = s.workers().at_cpu(*origin.cpu);
    if (!own) return;
    const worker_place& place = s.workers()[*own];
    const std::size_t index = place.id.value - s.workers().of_group(place.group).front().id.value;
    if (p.reason == placement_reason::own_core) {
      ++chosen;
      of_a_sibling += place.cpu != *origin.cpu ? 1 : 0;
    } else if (p.score < 15) {
      return;
    } else if (p.worker == *own) {
      ++lightest_anyway;
    } else if (place.group != p.group) {
      ++in_another_group;
    } else if (s.view().board(place.group).unavailable.test(index)) {
      ++unavailable;
    } else {
      ++twice_as_loaded;
    }
  }
};

/// Draws loads of about 16 tasks and more, and compares a short task from outside.
void check_own_core(situation& s, own_cores& seen) {
  const std::uint32_t usual = 15 + below(30);
  for (const worker_place& w : s.workers().workers()) {
    s.boards().set_load(w.id, one_in(3) ? 2 * usual - 8 + below(16) : usual + below(4));
    s.boards().set_unavailable(w.id, one_in(8));
  }
  s.task_time_ns = below(1001);
  const task_origin origin = any_outside(s);
  compare(s, origin, {});
  if (origin.cpu) seen.note(s, origin);
}

/// Checks that a worker keeps unasked only what it would keep if it asked.
void check_keeping(situation& s) {
  const task_origin origin = any_origin(s);
  if (!origin.worker) return;
  s.task_time_ns = *rc::gen::elementOf(std::vector<std::uint64_t>{999, 1000, 50'000, 200'000, 10'000'000});
  const std::optional<std::uint32_t> most = s.rule().max_load_kept_unasked(s.view(), origin);
  if (!most) return;
  s.boards().set_unavailable(*origin.worker, false);
  s.boards().set_load(*origin.worker, std::min(*most, 1 + below(4)));
  const placement asked = s.place(origin);
  if (asked.worker != *origin.worker)
    RC_FAIL(describe(origin) + " keeps up to " + std::to_string(*most) + "\n answered: " + describe(asked));
}

/// Draws how much of its speed each group has kept; of every other machine all groups have kept all of it.
std::vector<std::uint32_t> any_speeds(std::size_t groups) {
  std::vector<std::uint32_t> speeds;
  if (one_in(2)) return speeds;
  for (std::size_t i = 0; i < groups; ++i) speeds.push_back(one_in(2) ? 100 : 5 * (1 + below(20)));
  return speeds;
}

void check_machine(const made_machine& made) {
  const grouping_options grouping{static_cast<domain_kind>(below(5)), below(6)};
  situation s(build(made), any_weights(), any_workers(), grouping, "nearest_lightest", any_speeds);
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

TEST_CASE("nearest_lightest: where short tasks wait in rows, it gives the answer of a try of all workers") {
  own_cores seen;
  CHECK(rc::check([&seen] {
    const made_machine made = one_in(4) ? any_odd_machine() : any_regular_machine();
    dispatch_weights weights = any_weights();
    weights.keep_below_ns = one_in(8) ? 0 : 1000;
    situation s(build(made), weights, any_workers(), {static_cast<domain_kind>(below(5)), below(6)});
    for (int i = 0; i < states_per_machine; ++i) check_own_core(s, seen);
  }));
  CHECK(seen.chosen > 0);
  CHECK(seen.lightest_anyway > 0);
  CHECK(seen.twice_as_loaded > 0);
  CHECK(seen.unavailable > 0);
  CHECK(seen.in_another_group > 0);
  CHECK(seen.of_a_sibling > 0);
}

TEST_CASE("nearest_lightest: its answer is the cheapest of the workers that it considers") {
  CHECK(rc::check([] {
    situation s(build(any_regular_machine()), any_weights(), any_workers());
    any_loads(s);
    s.task_time_ns = one_in(2) ? 1000 : 50'000;
    const task_origin origin = any_origin(s);
    const placement_hint hint = one_in(2) ? placement_hint{} : any_hint(s);
    const placement chosen = s.place(origin, hint);
    bool seen = false;
    for (const considered& c : s.considering(origin, hint)) {
      RC_ASSERT(c.score + c.penalty >= chosen.cost || chosen.reason == placement_reason::own_core);
      RC_ASSERT(s.workers()[c.lightest].group == c.group);
      if (c.lightest == chosen.worker) seen = c.score == chosen.score && c.score + c.penalty == chosen.cost;
    }
    RC_ASSERT(seen);
  }));
}
