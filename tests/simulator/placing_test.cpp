#include <corewise/policies/reference.hpp>
#include <corewise/policies/still_boards.hpp>
#include <corewise/simulator/simulation.hpp>

#include <doctest/doctest.h>

#include <map>

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

/// Copies the loads and idle bits to boards of the test's own.
void copy(const load_view& shown, still_boards& boards, const worker_layout& workers,
          const locality_groups& groups) {
  for (const locality_group& g : groups.groups()) {
    const auto members = workers.of_group(g.id);
    for (std::size_t i = 0; i < members.size(); ++i) {
      const worker_load load = shown.load(g.id, i);
      boards.set_load(members[i].id, load);
      boards.set_activity(members[i].id, shown.activity(g.id, i));
      const bool parked = shown.board(g.id).parked.test(i);
      if (load.total() != 0 && parked)
        boards.set_waiting_asleep(members[i].id, load.total());
      else if (load.total() == 0 && shown.board(g.id).spinning.test(i))
        boards.set_spinning(members[i].id);
      else if (load.total() == 0 && !parked)
        boards.set_between_tasks(members[i].id);
    }
  }
}

struct decisions {
  std::uint64_t asked = 0;
  std::uint64_t kept = 0;
  std::uint64_t repeated = 0;
  std::uint64_t spilled = 0;
  std::uint64_t from_workers = 0;
  std::uint64_t own_core = 0;

  std::uint64_t all() const { return asked + kept + repeated; }
};

/// Compares each decision of a run with the answer of the policy itself, asked on other boards.
class onlooker {
 public:
  onlooker(const profile& p, const simulated_machine& m)
      : profile_(p),
        machine_(m),
        rule_(make_policy(p.dispatch.policy, m.groups, m.workers, weights_of(p))),
        boards_(m.groups, m.workers) {}

  void look(const placing_decision& d) {
    copy(d.loads, boards_, machine_.workers, machine_.groups);
    seen_.from_workers += d.origin.worker ? 1 : 0;
    switch (d.by) {
    case placing_decision::maker::place: return asked(d);
    case placing_decision::maker::max_load_kept_unasked: return kept(d);
    case placing_decision::maker::repeat: return repeated(d);
    }
  }
  const decisions& seen() const { return seen_; }

 private:
  void asked(const placing_decision& d) {
    const load_view still = boards_.view(d.loads.task_time_ns);
    REQUIRE_FALSE(may_keep(d)); // else it need not have been asked
    if (!d.origin.worker) {
      REQUIRE((!plain(d) || left(d) == 0));
      last_[d.cpu] = d.to;
    }
    const placement again = ask(d);
    REQUIRE(d.to.worker == again.worker);
    REQUIRE(d.to.group == again.group);
    REQUIRE(d.to.reason == again.reason);
    REQUIRE(d.to.cost == doctest::Approx(again.cost));
    REQUIRE(d.to.injected == again.injected);
    REQUIRE(d.to.repeat == again.repeat);
    if (profile_.dispatch.policy == "nearest_lightest" &&
        (d.to.reason != placement_reason::own_queue || d.to.cost != 0)) {
      const placement reference =
          place_by_trying_all(machine_.groups, still, weights_of(profile_), d.origin, d.hint);
      REQUIRE(d.to.cost == doctest::Approx(reference.cost));
      const bool own_core = reference.reason == placement_reason::own_core;
      REQUIRE((d.to.reason == placement_reason::own_core) == own_core);
      REQUIRE((!own_core || d.to.worker == reference.worker));
      seen_.own_core += own_core ? 1 : 0;
    }
    ++seen_.asked;
    seen_.spilled += d.to.level > level::same_domain ? 1 : 0;
  }

  /// Checks a kept task. A worker may keep a task unasked only where the policy would have left it there.
  void kept(const placing_decision& d) {
    REQUIRE(d.origin.worker.has_value());
    REQUIRE(d.to.worker == *d.origin.worker);
    REQUIRE(may_keep(d));
    REQUIRE(ask(d).worker == *d.origin.worker);
    ++seen_.kept;
  }

  /// Checks a repeated answer. A thread may send its task after the last one unasked only as often as the
  /// last answer says.
  void repeated(const placing_decision& d) {
    REQUIRE(plain(d));
    REQUIRE_FALSE(d.origin.worker.has_value());
    REQUIRE(left(d) != 0);
    REQUIRE(d.to.worker == last_[d.cpu].worker);
    --last_[d.cpu].repeat;
    ++seen_.repeated;
  }

  placement ask(const placing_decision& d) const {
    placement_rng rng = d.rng;
    placement_cursor cursor = d.cursor;
    return rule_->place(boards_.view(d.loads.task_time_ns), d.origin, d.hint, rng, cursor);
  }
  bool may_keep(const placing_decision& d) const {
    if (!d.origin.worker || !plain(d)) return false;
    const load_view still = boards_.view(d.loads.task_time_ns);
    const auto most = rule_->max_load_kept_unasked(still, d.origin);
    const std::uint32_t first = machine_.workers.of_group(d.origin.group).front().id.value;
    return most && still.load(d.origin.group, d.origin.worker->value - first).total() <= *most;
  }
  std::uint32_t left(const placing_decision& d) { return last_[d.cpu].repeat; }
  static bool plain(const placing_decision& d) { return d.hint.plain() && d.hint.empty(); }

  const profile& profile_;
  const simulated_machine& machine_;
  std::unique_ptr<policy> rule_;
  still_boards boards_;
  std::map<std::uint32_t, placement> last_; // by CPU, of threads outside
  decisions seen_;
};

/// Checks that each decision of a run is the one that the policy makes which `explain` asks, on boards that
/// `explain` makes; and, for the rule that has a reference, the reference's. Meanwhile the boards are those
/// of the queues.
decisions decisions_of(const profile& p, const std::string& w, std::uint64_t tasks) {
  const simulated_machine m(p);
  onlooker watched(p, m);
  simulation_options options{.tasks = tasks, .look_through = 13};
  options.on_placing = [&](const placing_decision& d) { watched.look(d); };
  (void)simulate(p, m, parse_workload(w), options);
  return watched.seen();
}

} // namespace

TEST_CASE("the simulator chooses each place that explain names") {
  SUBCASE("from outside, on two sockets of fast and slow cores") {
    CHECK(decisions_of(two_hybrid_sockets_profile(), "poisson,load=.9,service=exp:20us", 4000).asked > 3000);
  }
  SUBCASE("from one CPU, so that many tasks go to the other socket") {
    const decisions d =
        decisions_of(two_hybrid_sockets_profile(), "poisson,load=.8,service=exp:1ms,from=cpu:0", 4000);
    CHECK(d.spilled > 100);
  }
  SUBCASE("from workers") {
    const decisions d =
        decisions_of(two_hybrid_sockets_profile(), "poisson,load=.8,service=exp:20us,from=worker", 4000);
    CHECK(d.from_workers > 1000);
    CHECK(d.asked > 100);
    CHECK(d.kept > 100);
  }
  SUBCASE("with hints to the place of the data") {
    const decisions d = decisions_of(default_on("pack:2 numa:2 l3:2 core:4 pu:1"),
                                     "poisson,load=.8,service=exp:20us,data=random,hinted", 4000);
    CHECK(d.asked > 3000);
  }
}

TEST_CASE("short tasks follow one another, and workers keep them, as often as the policy allows") {
  const profile p = default_on("pack:2 numa:2 l3:2 core:4 pu:1");
  const decisions outside = decisions_of(p, "poisson,load=.5,service=exp:300ns,from=cpu:0", 20'000);
  CHECK(outside.repeated > 1000);
  CHECK(outside.asked > 1000);
  CHECK(decisions_of(p, "poisson,load=.5,service=exp:300ns,from=worker", 20'000).kept > 10'000);
}

TEST_CASE("where short tasks wait in rows, a thread outside prefers the worker of its core") {
  const profile p = default_on("pack:1 numa:1 l3:1 core:4 pu:2");
  // The average task time begins at 50 us, so tasks count as short only after some ticks.
  CHECK(decisions_of(p, "closed,clients=200,think=fixed:0ns,service=exp:300ns", 120'000).own_core > 100);
  CHECK(decisions_of(p, "closed,clients=200,think=exp:1us,service=exp:300ns,from=cpu:5", 120'000).own_core >
        1000);
}

TEST_CASE(
    "under every policy and every kind of workload the simulator chooses the places that explain names") {
  for (const std::string_view policy : policy_names())
    for (const std::string w :
         {"poisson,load=.8,service=exp:20us", "poisson,load=.7,service=exp:500ns,from=worker",
          "poisson,load=.7,service=exp:20us,from=worker,data=random,hinted",
          "mmpp,load=.6,service=bimodal:10us:1ms:.01,class=latency", "closed,clients=50,service=exp:5us",
          "fork-join,load=.6,depth=3,fanout=3,service=exp:5us"}) {
      CAPTURE(policy);
      CAPTURE(w);
      profile p = two_hybrid_sockets_profile();
      p.dispatch.policy = policy;
      CHECK(decisions_of(p, w, 1500).all() > 10);
    }
}

TEST_CASE("boards and counters agree with the queues, under every profile") {
  for (const std::string name : {"default", "latency", "throughput", "zio", "nio", "volt", "tokio",
                                 "activity", "global-queue", "local-only"})
    for (const std::string w :
         {"poisson,load=.9,service=exp:10us", "poisson,load=.8,service=exp:1us,from=worker",
          "poisson,load=.8,service=exp:10us,from=cpu:0,class=background",
          "mmpp,load=.6,burst=50,service=exp:2us", "fork-join,load=.6,depth=4,fanout=4,service=exp:2us",
          "ping-pong,pairs=50", "ping-pong,pairs=50,spawned", "yield-ring,tasks=60"}) {
      CAPTURE(name);
      CAPTURE(w);
      profile p = load_profile(COREWISE_SOURCE_DIR "/configs/" + name + ".yaml");
      use_machine(p.topology.machine, "pack:2 numa:1 l3:2 core:3 pu:1");
      p.queues.local = 8; // so that rings overflow
      const simulated_machine m(p);
      CHECK_NOTHROW((void)simulate(p, m, parse_workload(w), {.tasks = 3000, .look_through = 1}));
    }
}
