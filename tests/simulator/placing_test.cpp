#include <corewise/policies/reference.hpp>
#include <corewise/policies/still_boards.hpp>
#include <corewise/simulator/simulation.hpp>

#include <doctest/doctest.h>

using namespace corewise;

namespace {

profile default_on(const std::string& machine) {
  profile p;
  use_machine(p.topology.machine, machine);
  return p;
}

profile two_hybrid_sockets_profile() {
  return default_on(COREWISE_SOURCE_DIR "/configs/machines/two-socket-hybrid.yaml");
}

/// The same loads on boards of the test's own.
void copy(const load_view& shown, still_boards& boards, const worker_layout& workers,
          const locality_groups& groups) {
  for (const locality_group& g : groups.groups()) {
    const auto members = workers.of_group(g.id);
    for (std::size_t i = 0; i < members.size(); ++i) {
      const worker_load load = shown.load(g.id, i);
      boards.set_load(members[i].id, load);
      if (load.total() != 0) continue;
      if (shown.board(g.id).spinning.test(i))
        boards.set_spinning(members[i].id);
      else if (!shown.board(g.id).parked.test(i))
        boards.set_between_tasks(members[i].id);
    }
  }
}

struct decisions {
  std::uint64_t all = 0;
  std::uint64_t spilled = 0;
  std::uint64_t from_workers = 0;
};

/// Each decision of a run is the one that the policy makes which `explain` asks, on boards that `explain` makes; and, of the
/// rule that has a reference, the reference's.
decisions compare(const profile& p, const workload& w, std::uint64_t tasks) {
  const simulated_machine m(p);
  const auto asked = make_policy(p.dispatch.policy, m.groups, m.workers, weights_of(p));
  still_boards boards(m.groups, m.workers);
  decisions d;
  simulation_options options{.tasks = tasks};
  options.on_placing = [&](const load_view& shown, const task_origin& origin, const placement_hint& hint,
                           const placement& to) {
    copy(shown, boards, m.workers, m.groups);
    placement_rng rng(1);
    placement_cursor cursor;
    const load_view still = boards.view(shown.task_time_ns);
    const placement again = asked->place(still, origin, hint, rng, cursor);
    const placement reference = place_by_trying_all(m.groups, still, weights_of(p), origin, hint);
    REQUIRE(to.worker == again.worker);
    REQUIRE(to.reason == again.reason);
    REQUIRE(to.cost == doctest::Approx(again.cost));
    if (to.reason != placement_reason::own_queue || to.cost != 0)
      REQUIRE(to.cost == doctest::Approx(reference.cost));
    ++d.all;
    d.spilled += to.level > level::same_domain ? 1 : 0;
    d.from_workers += origin.worker ? 1 : 0;
  };
  (void)simulate(p, m, w, options);
  return d;
}

} // namespace

TEST_CASE("each place that the simulator chooses is the one that explain would name") {
  SUBCASE("from outside, on two sockets of fast and slow cores") {
    const decisions d =
        compare(two_hybrid_sockets_profile(), parse_workload("poisson,load=.9,service=exp:20us"), 4000);
    CHECK(d.all > 3000);
  }
  SUBCASE("from one CPU, so that much is sent to the other socket") {
    const decisions d = compare(two_hybrid_sockets_profile(),
                                parse_workload("poisson,load=.8,service=exp:1ms,from=cpu:0"), 4000);
    CHECK(d.spilled > 100);
  }
  SUBCASE("from workers") {
    const decisions d = compare(two_hybrid_sockets_profile(),
                                parse_workload("poisson,load=.8,service=exp:20us,from=worker"), 4000);
    CHECK(d.from_workers > 1000);
  }
  SUBCASE("with hints where the data is") {
    const decisions d = compare(default_on("pack:2 numa:2 l3:2 core:4 pu:1"),
                                parse_workload("poisson,load=.8,service=exp:20us,data=random,hinted"), 4000);
    CHECK(d.all > 3000);
  }
}
