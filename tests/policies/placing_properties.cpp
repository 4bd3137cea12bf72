#include "any_situation.hpp"

#include <corewise/topology/discovery.hpp>

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <filesystem>

// Properties of every policy on any machine, and two policies against their rules written out.

using namespace corewise;
using namespace corewise::tests;

namespace {

constexpr int situations_per_machine = 20;

bool available(const situation& s, const worker_place& w) {
  const auto index = w.id.value - s.workers().of_group(w.group).front().id.value;
  return !s.view().board(w.group).unavailable.test(index);
}

bool fulfils(const situation& s, const worker_place& w, const placement_hint& hint) {
  const locality_group& g = s.groups()[w.group];
  if (hint.worker && *hint.worker != w.id) return false;
  if (hint.group && *hint.group != g.id) return false;
  if (hint.package && g.package != hint.package) return false;
  if (hint.node && g.node != hint.node) return false;
  return !hint.kind || *hint.kind == g.kind;
}

/// The workers that a policy may choose.
std::vector<worker_id> legal_choices(const situation& s, const placement_hint& hint) {
  for (const bool available_only : {true, false})
    for (const bool wished_only : {true, false}) {
      std::vector<worker_id> legal;
      for (const worker_place& w : s.workers().workers())
        if ((!available_only || available(s, w)) && (!wished_only || fulfils(s, w, hint)))
          legal.push_back(w.id);
      if (!legal.empty()) return legal;
    }
  return {};
}

level level_seen(const situation& s, const task_origin& origin, group_id g) {
  if (!origin.worker && s.groups()[g].domain == s.groups()[origin.group].domain) return level::same_group;
  return s.groups().level_between(origin.group, g);
}

void check_answer(const situation& s, const policy& p, placement_rng& rng, placement_cursor& cursor) {
  const task_origin origin = any_origin(s);
  const placement_hint hint = one_in(2) ? placement_hint{} : any_hint(s);
  const auto weighed = p.consider(s.view(), origin, hint, rng, cursor);
  const placement chosen = p.place(s.view(), origin, hint, rng, cursor);
  RC_LOG() << p.name() << "; " << describe(origin) << "; " << describe(hint) << "; worker "
           << chosen.worker.value;
  const std::vector<worker_id> legal = legal_choices(s, hint);
  RC_ASSERT(std::ranges::find(legal, chosen.worker) != legal.end());
  RC_ASSERT(s.workers()[chosen.worker].group == chosen.group);
  RC_ASSERT(chosen.level == level_seen(s, origin, chosen.group));
  RC_ASSERT(!chosen.injected || p.name() == "local_first" || p.name() == "global_queue");
  // Any worker might take it from an injection queue.
  const bool obeyed = !hint.empty() && fulfils(s, s.workers()[chosen.worker], hint);
  RC_ASSERT(!(chosen.injected && obeyed));
  const auto as_chosen = [&](const considered& c) {
    return c.lightest == chosen.worker && c.group == chosen.group && c.score == chosen.score &&
           c.score + c.penalty == chosen.cost;
  };
  RC_ASSERT(std::ranges::any_of(weighed, as_chosen));
}

/// Sets any levels. Levels are hints: whatever they say, choices stay legal.
void any_levels(situation& s) {
  for (const worker_place& w : s.workers().workers())
    if (one_in(2)) s.boards().set_level(w.id, static_cast<std::uint8_t>(below(load_levels::no_worker)));
}

bool legal(const situation& s, const policy& p, placement_rng& rng, placement_cursor& cursor) {
  const task_origin origin = any_origin(s);
  const placement_hint hint = one_in(2) ? placement_hint{} : any_hint(s);
  const placement chosen = p.place(s.view(), origin, hint, rng, cursor);
  const std::vector<worker_id> choices = legal_choices(s, hint);
  return std::ranges::find(choices, chosen.worker) != choices.end() &&
         s.workers()[chosen.worker].group == chosen.group &&
         chosen.level == level_seen(s, origin, chosen.group);
}

void check_situation(situation& s, int states) {
  placement_rng rng(below(1'000'000));
  for (const std::string_view name : policy_names()) {
    const auto p = make_policy(name, s.groups(), s.workers(), any_weights());
    placement_cursor cursor{below(100), below(100)};
    for (int i = 0; i < states; ++i) {
      any_loads(s);
      check_answer(s, *p, rng, cursor);
      any_levels(s);
      RC_ASSERT(legal(s, *p, rng, cursor));
    }
  }
}

void check_machine(topology machine) {
  situation s(std::move(machine), any_weights(), any_workers(),
              {static_cast<domain_kind>(below(5)), below(6)});
  check_situation(s, situations_per_machine);
}

/// Tries all legal workers, lowest first; a strictly smaller one wins.
template <class Less>
worker_id first_least(const situation& s, const placement_hint& hint, const Less& less) {
  const std::vector<worker_id> legal = legal_choices(s, hint);
  worker_id best = legal.front();
  for (const worker_id w : legal)
    if (less(w, best)) best = w;
  return best;
}

template <class Less> void check_scan(const char* name, const Less& less) {
  situation s(build(one_in(2) ? any_regular_machine() : any_odd_machine()), {}, any_workers(),
              {static_cast<domain_kind>(below(5)), below(6)}, name);
  for (int i = 0; i < situations_per_machine; ++i) {
    any_loads(s);
    const placement_hint hint = one_in(2) ? placement_hint{} : any_hint(s);
    const worker_id expected = first_least(s, hint, [&](worker_id a, worker_id b) { return less(s, a, b); });
    RC_ASSERT(s.place(any_origin(s), hint).worker == expected);
  }
}

std::size_t place_of(const situation& s, worker_id w) {
  return w.value - s.workers().of_group(s.workers()[w].group).front().id.value;
}

} // namespace

TEST_CASE("every policy: on regular machines its choice is legal, and one of the workers that it considers") {
  CHECK(rc::check([] { check_machine(build(any_regular_machine())); }));
}

TEST_CASE("every policy: on odd machines its choice is legal, and one of the workers that it considers") {
  CHECK(rc::check([] { check_machine(build(any_odd_machine())); }));
}

TEST_CASE("every policy: on every machine of tests/machines its choice is legal") {
  int machines = 0;
  for (const auto& file : std::filesystem::directory_iterator(COREWISE_TEST_MACHINES)) {
    if (file.path().extension() != ".xml") continue;
    CAPTURE(file.path().string());
    machine_description description;
    description.source = xml_source{file.path()};
    const topology machine = discover(description);
    // Each hint alone and all together must be obeyed where any available worker can: `legal_choices` says
    // so.
    CHECK(rc::check([&] {
      situation s(machine, any_weights(), any_workers(), {static_cast<domain_kind>(below(5)), below(6)});
      check_situation(s, 2);
    }));
    ++machines;
  }
  CHECK(machines >= 38);
}

TEST_CASE("lightest: it gives the answer of a try of all workers") {
  CHECK(rc::check([] {
    check_scan("lightest", [](const situation& s, worker_id a, worker_id b) {
      const auto queued = [&](worker_id w) {
        return s.view().load(s.workers()[w].group, place_of(s, w)).queued;
      };
      return queued(a) < queued(b);
    });
  }));
}

TEST_CASE("activity: it gives the answer of a try of all workers") {
  CHECK(rc::check([] {
    check_scan("activity", [](const situation& s, worker_id a, worker_id b) {
      const auto of = [&](worker_id w) { return s.view().activity(s.workers()[w].group, place_of(s, w)); };
      if (of(a).touches != of(b).touches) return of(a).touches < of(b).touches;
      return of(a).touched_at < of(b).touched_at;
    });
  }));
}
