#include "any_situation.hpp"
#include "steal_tour.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <functional>
#include <map>

// Properties of every steal policy on any machine.

using namespace corewise;
using namespace corewise::tests;

namespace {

std::uint32_t waiting(const situation& s, const worker_place& w) {
  const auto first = s.workers().of_group(w.group).front().id.value;
  const worker_load load = s.view().load(w.group, w.id.value - first);
  return load.queued + load.slot;
}

void check_stops(const situation& s, steal_tours& tours, std::uint32_t thief) {
  std::map<worker_id, int> workers;
  std::map<group_id, int> injections;
  for (const steal_stop& stop : tours.all(thief)) {
    RC_ASSERT(stop.level == s.groups().level_between(s.workers()[{thief}].group, stop.group));
    if (stop.victim) RC_ASSERT(s.workers()[*stop.victim].group == stop.group);
    ++(stop.victim ? workers[*stop.victim] : injections[stop.group]);
  }
  for (const worker_place& w : s.workers().workers())
    RC_ASSERT(workers[w.id] == (w.id.value != thief && waiting(s, w) > 0 ? 1 : 0));
  for (const locality_group& g : s.groups().groups())
    RC_ASSERT(injections[g.id] == (g.id != s.workers()[{thief}].group ? 1 : 0));
}

/// The place of a stop in the order of nearest_half, as a number that never falls: the domain by capacity,
/// then levels.
std::uint64_t zone(const situation& s, group_id thief, const steal_stop& stop) {
  if (stop.level > level::same_domain)
    return (std::uint64_t{1} << 32) * static_cast<std::uint64_t>(stop.level);
  return s.groups()[stop.group].capacity * 2 + (stop.group == thief ? 0 : 1);
}

void check_nearest(const situation& s, steal_tours& tours, std::uint32_t thief, steal_effort effort) {
  std::uint64_t reached = 0;
  const group_id home = s.workers()[{thief}].group;
  for (const steal_stop& stop : tours.all(thief, effort)) {
    RC_ASSERT(zone(s, home, stop) >= reached);
    reached = zone(s, home, stop);
    const bool from_faster = stop.victim && stop.level == level::same_domain &&
                             s.groups()[stop.group].capacity > s.groups()[home].capacity;
    if (!from_faster || effort == steal_effort::thorough) continue;
    const worker_place& victim = s.workers()[*stop.victim];
    const auto index = victim.id.value - s.workers().of_group(victim.group).front().id.value;
    RC_ASSERT(waiting(s, victim) >= 2 || s.view().board(victim.group).unavailable.test(index));
  }
}

void each_thief(const std::function<void(situation&, std::uint32_t)>& check) {
  situation s(build(one_in(2) ? any_regular_machine() : any_odd_machine()), {}, any_workers(),
              {static_cast<domain_kind>(below(5)), below(6)});
  for (int i = 0; i < 10; ++i) {
    any_loads(s);
    check(s, below(static_cast<std::uint32_t>(s.workers().size())));
  }
}

} // namespace

TEST_CASE("every steal policy: a thorough round visits each worker with a task, and each other injection "
          "queue, once") {
  CHECK(rc::check([] {
    each_thief([](situation& s, std::uint32_t thief) {
      for (const std::string_view name : steal_policy_names()) {
        if (name == "none") continue;
        steal_tours tours(s, name, one_in(2) ? steal_start::nearest : steal_start::random);
        check_stops(s, tours, thief);
      }
    });
  }));
}

TEST_CASE("every steal policy: the tour ends where the thief took a task") {
  CHECK(rc::check([] {
    each_thief([](situation& s, std::uint32_t thief) {
      for (const std::string_view name : steal_policy_names()) {
        steal_tours tours(s, name);
        std::uint32_t left = below(6);
        const auto stops =
            tours.until(thief, steal_effort::thorough, [&](const steal_stop&) { return left-- == 0; });
        RC_ASSERT(tours.taken() == (left == ~std::uint32_t{0}));
        RC_ASSERT(tours.taken() || stops.size() <= 5);
      }
    });
  }));
}

TEST_CASE("nearest half: inside the domain capacities never fall, outside levels never do") {
  CHECK(rc::check([] {
    each_thief([](situation& s, std::uint32_t thief) {
      steal_tours tours(s, "nearest_half");
      for (const steal_effort effort : {steal_effort::usual, steal_effort::thorough})
        check_nearest(s, tours, thief, effort);
    });
  }));
}
