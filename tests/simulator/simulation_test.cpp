#include <corewise/simulator/simulation.hpp>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <fstream>

using namespace corewise;

namespace {

profile on(const std::string& machine, const std::string& name = "default") {
  profile p = load_profile(COREWISE_SOURCE_DIR "/configs/" + name + ".yaml");
  use_machine(p.topology.machine, machine);
  return p;
}

simulation_result run(const profile& p, const std::string& w, std::uint64_t tasks, std::uint64_t seed = 1) {
  return simulate(p, simulated_machine(p), parse_workload(w), {.seed = seed, .tasks = tasks});
}

const std::vector<std::string> profiles{"default",          "latency",      "throughput", "zio",
                                        "zio-least-loaded", "nio",          "volt",       "tokio",
                                        "activity",         "global-queue", "local-only"};
const std::vector<std::string> workloads{
    "poisson,load=.7,service=exp:10us",
    "poisson,load=.7,service=bimodal:10us:1ms:.005,data=random",
    "mmpp,load=.5,service=lognormal:20us:2,burst=6",
    "poisson,load=.6,service=pareto:10us:2.2,from=worker",
    "poisson,load=.7,service=fixed:10us,from=cpu:0",
    "poisson,load=.5,service=exp:10us,class=latency",
    "poisson,load=.5,service=exp:10us,class=background",
    "closed,clients=40,think=exp:20us,service=exp:10us",
    "fork-join,load=.6,depth=4,fanout=3,service=exp:5us",
    "ping-pong,pairs=3,service=fixed:1us",
    "ping-pong,pairs=30,spawned,service=fixed:1us",
    "yield-ring,tasks=50,service=fixed:500ns",
};

} // namespace

// simulate() checks Little's law, exactly: a task that was lost or counted twice is an error.
TEST_CASE("every workload ends under every profile, and no task is lost") {
  for (const std::string& name : profiles)
    for (const std::string& w : workloads)
      for (const char* machine : {"core:1 pu:1", "pack:2 numa:1 l3:2 core:4 pu:1"}) {
        CAPTURE(name);
        CAPTURE(w);
        CAPTURE(machine);
        const simulation_result r = run(on(machine, name), w, 3000);
        CHECK(r.tasks >= 2600);
        CHECK(r.response.count() > 0);
        CHECK(r.busy > 0);
        CHECK(r.busy <= 1.0000001);
        CHECK(r.throughput() > 0);
      }
}

TEST_CASE("a run that would not end is refused with the limit that it passes") {
  struct row {
    std::string_view text, message;
  };
  constexpr std::string_view late = "the simulated time is over, which is 146 years at most";
  constexpr std::string_view many = "10001 tasks wait or run, of 10000 at most";
  constexpr std::string_view often = "times between two of";
  const profile p = on("core:4 pu:1");
  for (const auto& [text, message] : std::initializer_list<row>{
           {"poisson,rate=1e-9", late},
           {"poisson,rate=1e-300", late},
           {"poisson,rate=5e-324", late},
           {"poisson,load=5e-324", late},
           {"poisson,load=1e-30,service=fixed:3600s", late},
           {"fork-join,rate=1e-9,depth=2,fanout=2", late},
           {"mmpp,rate=1e-9,burst-length=1ns", often},
           {"mmpp,load=5e-324", often},
           {"mmpp,rate=1e-9,burst-length=3600s,burst-share=.000001", late},
           {"closed,clients=1,think=fixed:3600s,service=fixed:3600s", late},
           {"poisson,rate=1e9,service=fixed:3600s", many},
       }) {
    CAPTURE(text);
    std::string error;
    try {
      simulate(p, simulated_machine(p), parse_workload(text), {.tasks = 1'000'000, .most_in_system = 10'000});
    } catch (const workload_error& e) {
      error = e.what();
    }
    CAPTURE(error);
    CHECK(error.find(message) != std::string::npos);
    CHECK(error.starts_with(describe(parse_workload(text))));
  }
}

TEST_CASE("rare arrivals, rare bursts and deep trees are simulated as they are described") {
  const profile p = on("core:4 pu:1");
  CHECK(run(p, "poisson,rate=.0001", 1000).response.count() > 0);
  CHECK(run(p, "poisson,rate=1e9,service=fixed:1us", 10'000).response.count() > 0);
  CHECK(run(p, "mmpp,rate=1000,burst-length=1us,burst-share=.3", 1000).response.count() > 0);
  CHECK(run(p, "yield-ring,tasks=1000000,service=fixed:3600s", 1000).response.count() > 0);
  profile waits = p;
  waits.idle.spin = std::chrono::nanoseconds::max();
  CHECK(run(waits, "poisson,load=.1", 1000).response.count() > 0);
  // A tree of 70,000 levels: its response is that of as many tasks, one after another.
  const simulation_result deep = run(p, "fork-join,load=.1,depth=70000,fanout=1,service=fixed:1us", 140'002);
  CHECK(deep.response.max() > 70e6);
}

TEST_CASE("the same seed gives the same result, another seed another one") {
  const profile p = on("pack:2 numa:1 l3:2 core:4 pu:1");
  for (const std::string& w : workloads) {
    CAPTURE(w);
    const simulation_result a = run(p, w, 3000);
    const simulation_result b = run(p, w, 3000);
    CHECK(a.ended_ns == b.ended_ns);
    CHECK(a.events == b.events);
    CHECK(a.response.mean() == b.response.mean());
    CHECK(a.wake_ups == b.wake_ups);
    CHECK(a.stolen_at == b.stolen_at);
  }
  CHECK(run(p, workloads[0], 3000, 1).ended_ns != run(p, workloads[0], 3000, 2).ended_ns);
}

TEST_CASE("the moments of a run add up to its result") {
  for (const char* w :
       {"poisson,load=.6,service=lognormal:20us:2,from=cpu:0", "fork-join,load=.6,depth=4,fanout=3"}) {
    CAPTURE(w);
    const profile p = on("pack:2 numa:1 l3:2 core:4 pu:1");
    const simulated_machine machine(p);
    std::vector<live_figures> seen;
    const simulation_result r =
        simulate(p, machine, parse_workload(w),
                 {.tasks = 3000, .warm_up = 0, .moments = 10, .on_moment = [&](const live_figures& now) {
                    seen.push_back(now);
                  }});
    REQUIRE(seen.size() >= 10);
    CHECK(seen.size() <= 11);
    const worker_metrics last = seen.back().metrics.total();
    std::uint64_t waited = 0;
    for (const time_histogram& times : last.waited) waited += times.count();
    CHECK(waited >= last.executed); // those that run now have waited too
    CHECK(waited <= last.executed + machine.workers.size());
    CHECK(last.executed >= seen.back().metrics.finished);
    CHECK(last.busy.count() > 0);
    CHECK(last.busy.count() <= r.ended_ns * static_cast<std::int64_t>(machine.workers.size()));
    for (std::size_t l = 0; l < level_count; ++l) { // the result leaves out what came before the first end
      CHECK(last.stolen[l] >= r.stolen_at[l]);
      CHECK(last.stolen[l] <= r.stolen_at[l] + r.stolen_at[l] / 10 + 20);
    }
    CHECK(last.stolen[4] > 0);
    for (std::size_t i = 1; i < seen.size(); ++i) CHECK(seen[i].time >= seen[i - 1].time);
    for (const worker_metrics& worker : seen.back().metrics.workers)
      for (std::size_t l = 0; l < level_count; ++l)
        if (worker.stolen[l] != 0)
          CHECK(machine.groups.level_between(worker.victims[l], worker.group) == static_cast<level>(l));
  }
}

TEST_CASE("workers are as busy as the offered load") {
  for (const double load : {0.3, 0.6, 0.9}) {
    profile p = on("pack:2 numa:1 l3:2 core:4 pu:1");
    for (double* cost : {&p.topology.machine.costs.run, &p.topology.machine.costs.submit}) *cost = 0;
    p.topology.machine.costs.transfer = p.topology.machine.costs.steal = {};
    const simulation_result r = run(p, "poisson,service=exp:10us,load=" + std::to_string(load), 300'000);
    CHECK(r.busy == doctest::Approx(load).epsilon(0.02));
    CHECK(r.mean_in_system == doctest::Approx(r.throughput() * r.response.mean() * 1e-9).epsilon(0.01));
  }
}

TEST_CASE("a worker that is half as fast takes twice as long") {
  profile p = on("pack:2 numa:1 core:1 pu:1");
  p.topology.machine.kinds = {{cpu_set::range(0, 0), "P", 1024}, {cpu_set::range(1, 1), "E", 512}};
  p.topology.machine.costs.run = p.topology.machine.costs.submit = p.topology.machine.costs.wake_up = 0;
  p.topology.machine.costs.transfer = p.topology.machine.costs.steal = {};
  CHECK(run(p, "poisson,rate=10,service=fixed:10us,from=cpu:0", 1000).response.mean() ==
        doctest::Approx(10'000).epsilon(0.001));
  const simulation_result slow = run(p, "poisson,rate=10,service=fixed:10us,from=cpu:1", 1000);
  CHECK(slow.response.mean() == doctest::Approx(20'000).epsilon(0.001));
  REQUIRE(slow.kinds.size() == 2);
  CHECK(slow.kinds[0].name == "E");
  CHECK(slow.kinds[0].tasks >= slow.tasks - 1); // the first one measured had begun before
  CHECK(slow.kinds[1].tasks == 0);
}

TEST_CASE("tasks away from their data are slower by the factor of the machine, and are counted by distance") {
  profile p = on("pack:2 numa:1 core:1 pu:1");
  machine_costs& c = p.topology.machine.costs;
  c.run = c.submit = c.wake_up = 0;
  c.transfer = c.steal = {};
  c.slowdown.cross_package = 1.5;
  const simulation_result r = run(p, "poisson,rate=10,service=fixed:10us,data=node:1,from=cpu:0", 1000);
  CHECK(r.response.mean() == doctest::Approx(15'000).epsilon(0.001));
  CHECK(r.crossed() == 1);
  const simulation_result hinted =
      run(p, "poisson,rate=10,service=fixed:10us,data=node:1,from=cpu:0,hinted", 1000);
  CHECK(hinted.response.mean() == doctest::Approx(10'000).epsilon(0.001));
  CHECK(hinted.crossed() == 0);
}

TEST_CASE("tasks on threads of one core slow each other down by the factor of the machine") {
  const auto mean_response = [](const char* machine, int clients) {
    profile p = on(machine);
    p.topology.smt = smt_use::all;
    machine_costs& c = p.topology.machine.costs;
    c.run = c.submit = c.wake_up = c.waking = 0;
    c.transfer = c.steal = {};
    c.slowdown.shared_core = 1.5;
    const std::string w = "closed,think=fixed:0ns,service=fixed:10us,clients=" + std::to_string(clients);
    return run(p, w, 10'000).response.mean();
  };
  CHECK(mean_response("core:1 pu:2", 1) == doctest::Approx(10'000).epsilon(0.001));
  CHECK(mean_response("core:1 pu:2", 2) == doctest::Approx(15'000).epsilon(0.001));
  CHECK(mean_response("core:1 pu:4", 4) == doctest::Approx(25'000).epsilon(0.001)); // three others
  CHECK(mean_response("core:2 pu:2", 2) == doctest::Approx(10'000).epsilon(0.001)); // a core for each
  CHECK(mean_response("core:2 pu:1", 2) == doctest::Approx(10'000).epsilon(0.001));
}

TEST_CASE("a sleeper is late by the cost of waking, a task of another package by its lines") {
  profile p = on("core:1 pu:1");
  machine_costs& c = p.topology.machine.costs;
  c.run = 100;
  c.wake_up = 7000;
  c.transfer = {30, 0, 0, 0, 0};
  CHECK(run(p, "poisson,rate=10,service=fixed:10us", 1000).response.mean() ==
        doctest::Approx(17'130).epsilon(0.001));
}

TEST_CASE("a worker that takes the oldest task of its group fetches a line of each inbox with a task") {
  profile p = on("core:4 pu:1");
  machine_costs& c = p.topology.machine.costs;
  c.transfer = {20'000, 0, 0, 0, 0};
  const std::string w = "closed,clients=40,think=fixed:0ns,service=fixed:100us";
  const double oldest = run(p, w, 20'000).throughput();
  p.queues.oldest_first.reset();
  CHECK(run(p, w, 20'000).throughput() > 1.3 * oldest);
}

TEST_CASE("a task that runs elsewhere transfers the lines of its workload, and one of the inbox") {
  profile p = on("pack:2 numa:1 core:1 pu:1");
  p.dispatch.policy = "round_robin";
  p.steal.policy = "none";
  machine_costs& c = p.topology.machine.costs;
  c.run = c.submit = c.wake_up = c.waking = 0;
  c.transfer = {10, 7, 0, 0,
                80}; // half of the tasks come from the other package; a thread outside is near every worker
  for (const std::uint32_t lines : {1U, 11U}) {
    const simulation_result r =
        run(p, "poisson,rate=10,service=fixed:10us,from=cpu:0,lines=" + std::to_string(lines), 1000);
    CHECK(r.response.mean() == doctest::Approx(10'007 + lines * (10 + 80) / 2.0).epsilon(.0005));
  }
}

TEST_CASE("pairs that are spawned have three turns, and come again after the last has ended") {
  profile p = on("core:1 pu:1");
  machine_costs& c = p.topology.machine.costs;
  c.run = c.wake_up = c.waking = 0;
  c.transfer = {};
  c.submit = 90;
  for (const std::uint32_t pairs : {1U, 3U, 40U}) {
    CAPTURE(pairs);
    const std::uint64_t turns = 1 + 3 * pairs;   // of a root and its pairs
    const std::uint64_t submissions = 2 * pairs; // and the root's own, which costs the worker nothing
    constexpr std::uint64_t rounds = 100;
    const simulation_result r =
        simulate(p, simulated_machine(p),
                 parse_workload("ping-pong,spawned,service=fixed:1us,pairs=" + std::to_string(pairs)),
                 {.tasks = rounds * turns, .warm_up = 0});
    // The counts begin with the end of the first root.
    CHECK(r.placed == rounds * (1 + submissions) - (1 + pairs));
    CHECK(r.ended_ns == static_cast<std::int64_t>(rounds * (turns * 1000 + submissions * 90)));
    CHECK(r.wake_ups == 0); // there is always a next root
  }
}

TEST_CASE("a task in the LIFO slot of a held worker is taken from there when it has aged") {
  profile p = on("core:2 pu:1");
  const simulation_result r = run(p, "poisson,rate=100,service=fixed:1ms,from=worker", 2000);
  CHECK(r.response.quantile(0.999) < 4e6);
}

TEST_CASE("a task in the LIFO slot ages by its own time there, not by that of an earlier task") {
  profile p = on("core:2 pu:1");
  p.dispatch.policy = "local_first"; // what a worker submits stays with it
  p.queues.lifo_age = std::chrono::microseconds{50};
  const std::string file = "/tmp/corewise-slot-trace-test.csv";
  std::ofstream(file) << "0,45000\n"       // makes the worker busy
                         "10000,1000\n"    // waits in the slot, and would have aged at 60 us
                         "49500,1000000\n" // is put there while that one runs, and holds the worker up
                         "55000,1000\n";   // waits in the slot until 105 us
  const simulation_result r =
      simulate(p, simulated_machine(p), parse_workload("trace,from=worker,file=" + file), {.warm_up = 0});
  REQUIRE(r.tasks == 4);
  CHECK(r.response.quantile(0.01) > 30'000);
}

TEST_CASE("workers that take the oldest task behave like one queue") {
  const std::string w = "poisson,load=.7,service=bimodal:10us:1ms:.1";
  const profile oldest = on("core:2 pu:1");
  profile own = oldest;
  own.queues.oldest_first.reset();
  const auto p99 = [&](const profile& p) { return run(p, w, 300'000).response.quantile(0.99); };
  const double one_queue = p99(on("core:2 pu:1", "global-queue"));
  CHECK(p99(oldest) < 1.01 * one_queue);
  CHECK(p99(own) > 1.05 * one_queue);
}

TEST_CASE("a trace is replayed, and ends the run") {
  const std::string file = doctest::String("/tmp/").c_str() + std::string("corewise-trace-test.csv");
  std::ofstream(file) << "time_ns,service_ns,node,class\n0,1000,0,normal\n5000,2000,0,latency\n90000,3000\n";
  profile p = on("numa:1 core:2 pu:1");
  const simulation_result r =
      simulate(p, simulated_machine(p), parse_workload("trace,file=" + file), {.warm_up = 0});
  CHECK(r.tasks == 3);
  CHECK(r.ended_ns > 93'000);
}

TEST_CASE("nodes, CPUs and files that a workload names must exist") {
  const profile p = on("numa:2 core:2 pu:1");
  CHECK_THROWS_AS((void)run(p, "poisson,data=node:2", 10), workload_error);
  CHECK_THROWS_AS((void)run(p, "poisson,from=cpu:4", 10), workload_error);
  CHECK_THROWS_AS((void)run(on("core:2 pu:1"), "trace,file=/nowhere", 10), workload_error);
}

TEST_CASE("a run can be stopped, and reports its progress") {
  const profile p = on("core:2 pu:1");
  std::atomic<std::uint64_t> progress{0};
  std::atomic<bool> stop{true};
  const simulated_machine m(p);
  const workload w = parse_workload("poisson,service=exp:10us");
  CHECK_THROWS_AS((void)simulate(p, m, w, {.tasks = 100'000, .progress = &progress, .stop = &stop}),
                  simulation_stopped);
  stop = false;
  (void)simulate(p, m, w, {.tasks = 20'000, .progress = &progress, .stop = &stop});
  CHECK(progress == 20'000);
}

TEST_CASE("loads are sampled over the run, by group") {
  const profile p = on("pack:2 numa:1 l3:2 core:4 pu:1");
  const simulation_result r =
      simulate(p, simulated_machine(p), parse_workload("poisson,load=.7,service=exp:10us"),
               {.tasks = 10'000, .samples = 50});
  CHECK(r.samples.size() >= 50);
  CHECK(r.samples.size() <= 52);
  for (const auto& s : r.samples) CHECK(s.load.size() == 4);
}

TEST_CASE("memory does not grow with the number of tasks") {
  const profile p = on("core:8 pu:1");
  const auto resident = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss; // KiB
  };
  (void)run(p, "poisson,load=.7,service=exp:10us", 50'000);
  const long before = resident();
  (void)run(p, "poisson,load=.7,service=exp:10us", 1'000'000);
  CHECK(resident() - before < 2'000);
}

TEST_CASE("near-data brings the tasks of every kind of workload from a CPU of their data's node") {
  const profile p = on("pack:2 numa:1 l3:1 core:4 pu:1");
  const auto far = [&](const std::string& w) { // tasks whose data is in the other package
    return run(p, w, 4000).ran_at[static_cast<std::size_t>(level::cross_package)];
  };
  for (const char* w : {"poisson,load=.3,data=random", "closed,clients=3,data=random",
                        "ping-pong,pairs=2,data=random", "yield-ring,tasks=4,data=random"}) {
    CAPTURE(w);
    const std::uint64_t anywhere = far(w);
    const std::uint64_t near = far(std::string(w) + ",near-data");
    CAPTURE(anywhere);
    CAPTURE(near);
    CHECK(near < anywhere);
  }
}
