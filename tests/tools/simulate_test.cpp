#include "shell.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace corewise::tests;

namespace {

constexpr const char* two = "version: 1\nname: two\ndispatch: {policy: two_choices}\n";
const std::string simulate_two_sockets = "corewise simulate --machine two-sockets.yaml --tasks 20000 ";

struct simulate_shell : scratch_shell {
  simulate_shell() {
    write("two-sockets.yaml", two_sockets);
    write("two.yaml", two);
    write("plain.yaml", "version: 1\nname: plain\n");
  }
};

} // namespace

TEST_CASE("corewise simulate: the table has a row for each profile") {
  const simulate_shell shell;
  const outcome o =
      shell.run(simulate_two_sockets + "--workload poisson,load=.5 --profile two.yaml --profile plain.yaml");
  CAPTURE(o.out);
  CHECK(o.status == 0);
  CHECK(o.err.empty());
  CHECK(o.out.starts_with("machine:two-sockets.yaml\n"
                          "poisson,load=0.5,service=exp:10us,from=outside,data=none,class=normal,lines=1\n"
                          "20000 tasks, seed 1\n"));
  for (const std::string what : {"\ntwo ", "\nplain ", "slowdown p99", "busy P", "busy E", "ran: group"})
    CHECK(contains(o.out, what));
  CHECK(count_of("\ntwo ", o.out) == 3); // in each of the tables
}

TEST_CASE("corewise simulate: profiles with other workers meet the tasks of the first one") {
  const simulate_shell shell;
  shell.write("four.yaml", "version: 1\nname: four\nworkers: {per_group: 4}\n");
  shell.write("eight.yaml", "version: 1\nname: eight\nworkers: {per_group: 8}\n");
  for (const std::string kind :
       {"poisson,service=fixed:10us,", "mmpp,", "fork-join,depth=1,fanout=1,service=exp:5us,"}) {
    const auto reports = [&](const std::string& how_many) {
      const outcome o = shell.run("corewise simulate --machine 'core:8 pu:1' --tasks 5000 --format json "
                                  "--profile four.yaml --profile eight.yaml --workload " +
                                  kind + how_many);
      REQUIRE_MESSAGE(o.status == 0, o.err);
      return nlohmann::json::parse(o.out);
    };
    CAPTURE(kind);
    // Half of what four workers do of tasks of 10 us.
    CHECK(reports("load=.5") == reports("rate=200000"));
  }
}

TEST_CASE("corewise simulate: a rate that stands for a load of the first profile's workers is short") {
  const simulate_shell shell;
  shell.write("three.yaml", "version: 1\nname: three\nworkers: {per_group: 3}\n");
  shell.write("seven.yaml", "version: 1\nname: seven\nworkers: {per_group: 7}\n");
  const outcome o = shell.run(
      "corewise simulate --machine 'core:8 pu:1' --tasks 500 --workload poisson,load=.7,service=exp:9us "
      "--profile three.yaml --profile seven.yaml");
  REQUIRE_MESSAGE(o.status == 0, o.err);
  CHECK_MESSAGE(contains(o.out, "\npoisson,rate=233333,service=exp:9us,"), o.out);
}

TEST_CASE("corewise simulate: profiles and the machine may come from pipes") {
  const simulate_shell shell;
  const std::string how = "corewise simulate --tasks 500 --workload poisson,load=.5 ";
  const outcome machine =
      shell.run(how + "--machine <(cat two-sockets.yaml) --profile <(cat two.yaml) --profile plain.yaml");
  CHECK_MESSAGE(machine.status == 0, machine.err);
  CHECK(contains(machine.out, "busy E"));
  const outcome piped = shell.run("cat two-sockets.yaml | " + how + "--machine /dev/stdin");
  CHECK_MESSAGE(piped.status == 0, piped.err);
  CHECK(shell.run("cat two-sockets.yaml | corewise topology --machine /dev/stdin").status == 0);
  const outcome xml =
      shell.run("corewise topology --machine <(cat '" COREWISE_RECORDED_MACHINES "/three_arm_kinds.xml')");
  CHECK(xml.status == 1);
  CHECK_MESSAGE(contains(xml.err, "found XML; give it as a file, FILE.xml, not by a pipe"), xml.err);
  shell.run("cp '" COREWISE_RECORDED_MACHINES "/three_arm_kinds.xml' machine");
  CHECK(shell.run("corewise topology --machine machine").status == 0);
}

TEST_CASE("corewise simulate: profiles with machines of their own are reported with those") {
  const simulate_shell shell;
  for (const std::string cores : {"4", "8"})
    shell.write(cores + ".yaml", "version: 1\nname: of" + cores +
                                     "\ntopology: {source: {synthetic: \"core:" + cores + " pu:1\"}}\n");
  const std::string line = "corewise simulate --tasks 2000 --workload poisson --workload closed "
                           "--profile 4.yaml --profile 8.yaml --profile 4.yaml --format ";
  const outcome o = shell.run(line + "json");
  REQUIRE_MESSAGE(o.status == 0, o.err);
  const auto reports = nlohmann::json::parse(o.out);
  REQUIRE(reports.size() == 4);
  for (const std::size_t first : {0U, 2U}) {
    CHECK(reports[first]["machine"] == "synthetic:core:4 pu:1");
    REQUIRE(reports[first]["profiles"].size() == 2);
    CHECK(reports[first]["profiles"][1]["profile"] == "4.yaml");
    CHECK(reports[first + 1]["machine"] == "synthetic:core:8 pu:1");
    CHECK(reports[first + 1]["profiles"][0]["profile"] == "of8");
    CHECK(reports[first]["workload"] == reports[first + 1]["workload"]);
  }
  CHECK(count_of("synthetic:core:8 pu:1,", shell.run(line + "csv").out) == 2);
}

TEST_CASE("corewise simulate: by default it simulates the default profile on this machine") {
  const outcome o = run("corewise simulate --tasks 2000 --workload closed,clients=4");
  CHECK(o.status == 0);
  CHECK(o.out.starts_with("live\nclosed,clients=4,"));
  CHECK(contains(o.out, "\ndefault "));
}

TEST_CASE("corewise simulate: --map writes a page that plays the run") {
  const simulate_shell shell;
  const std::string one = simulate_two_sockets + "--workload poisson,load=.5 ";
  const outcome o = shell.run(one + "--map map.html && cat map.html");
  REQUIRE_MESSAGE(o.status == 0, o.err);
  const std::string begin = "<script type=\"application/json\" id=\"recording\">";
  const std::size_t at = o.out.find(begin) + begin.size();
  REQUIRE(at > begin.size());
  const auto recorded = nlohmann::json::parse(o.out.substr(at, o.out.find("</script>", at) - at));
  CHECK(recorded["machine"]["packages"].size() == 2);
  CHECK(recorded["moments"].size() >= 120);
  CHECK(recorded["moments"][119]["workers"]["load"].size() == 32);
  CHECK(contains(o.out, "default-src 'none'; script-src 'sha256-"));

  for (const char* more :
       {"--workload closed,clients=2", "--seeds 2", "--profile two.yaml --profile plain.yaml"}) {
    const outcome refused = shell.run(one + "--map other.html " + more);
    CHECK(refused.status == 2);
    CHECK(contains(refused.err, "one workload, one profile and one seed"));
  }
  CHECK(shell.run(one + "--map nowhere/map.html").status != 0);
  CHECK(contains(shell.run(one + "--map map.html").err, "map.html (--force overwrites it)"));
  CHECK(shell.run(one + "--map map.html --force").status == 0);
  for (const std::string to : {"-", "/dev/stdout"}) {
    const outcome piped = shell.run(one + "--map " + to + " > piped.html && cmp piped.html map.html");
    CHECK_MESSAGE(piped.status == 0, piped.out);
    CHECK(contains(piped.err, "20000 tasks, seed 1\n"));
  }
}

TEST_CASE("corewise simulate: where a signal ends it while it writes a file, there is none") {
  if (sanitized()) {
    MESSAGE("skipped: a sanitizer handles the signal");
    return;
  }
  const simulate_shell shell;
  const outcome o = shell.run("mkdir d; (ulimit -c 0; ulimit -f 8; exec " + simulate_two_sockets +
                              "--workload poisson,load=.5 --map d/map.html); echo $?; ls -A d");
  CHECK_MESSAGE(o.out == "153\n", o.out); // by SIGXFSZ
}

TEST_CASE("corewise simulate: it simulates a machine of hwloc's XML, with its core kinds and its nodes") {
  const std::string simulate =
      "corewise simulate --tasks 5000 --format json --machine '" COREWISE_RECORDED_MACHINES "/";
  const outcome kinds = run(simulate + "three_arm_kinds.xml' --workload poisson,load=.6");
  REQUIRE_MESSAGE(kinds.status == 0, kinds.err);
  const auto three = nlohmann::json::parse(kinds.out)[0];
  CHECK(three["machine"].get<std::string>().starts_with("xml:"));
  CHECK(three["profiles"][0]["kinds"].size() == 3);
  for (const auto& kind : three["profiles"][0]["kinds"]) CHECK(kind["workers"] > 0);

  const outcome nodes = run(simulate + "two_sockets.xml' --workload poisson,load=.6,data=random");
  REQUIRE_MESSAGE(nodes.status == 0, nodes.err);
  const auto row = nlohmann::json::parse(nodes.out)[0]["profiles"][0];
  CHECK(row["crossed_share"] > .3); // tasks come from anywhere, so half of their data is over there
  CHECK(row["crossed_share"] < .7);
}

TEST_CASE("corewise simulate: the JSON has an object for each workload, and in it one for each profile") {
  const simulate_shell shell;
  const outcome o = shell.run(simulate_two_sockets +
                              "--format json --seeds 3 --seed 5 --profile two.yaml --profile plain.yaml "
                              "--workload poisson --workload mmpp,load=.3");
  REQUIRE(o.status == 0);
  const auto answer = nlohmann::json::parse(o.out);
  REQUIRE(answer.size() == 2);
  CHECK(keys_of(answer[0]) == std::set<std::string>{"machine", "workload", "tasks", "seeds", "profiles"});
  CHECK(answer[0]["machine"] == "machine:two-sockets.yaml");
  CHECK(answer[1]["workload"].get<std::string>().starts_with("mmpp,load=0.3,"));
  CHECK(answer[0]["tasks"] == 20000);
  CHECK(answer[0]["seeds"] == nlohmann::json::array({5, 6, 7}));
  REQUIRE(answer[1]["profiles"].size() == 2);
  CHECK(answer[1]["profiles"][0]["profile"] == "two");
  CHECK(answer[1]["profiles"][1]["profile"] == "plain");
  for (const auto& report : answer)
    for (const auto& p : report["profiles"]) {
      CHECK(p["measured_tasks"] > 0);
      CHECK(p["response_p50_ns"] > 0);
      CHECK(p["response_p50_ns"] <= p["response_p99_ns"]);
      CHECK(p["response_p99_least_ns"] <= p["response_p99_ns"]);
      CHECK(p["response_p99_ns"] <= p["response_p99_most_ns"]);
      CHECK(keys_of(p["kinds"]) == std::set<std::string>{"E", "P"});
    }
}

TEST_CASE("corewise simulate: the CSV has a line for each profile of each workload") {
  const simulate_shell shell;
  const outcome o = shell.run(simulate_two_sockets +
                              "--format csv --profile two.yaml --profile plain.yaml --workload poisson "
                              "--workload fork-join,depth=2,fanout=2");
  CHECK(o.status == 0);
  CHECK(std::ranges::count(o.out, '\n') == 5);
  CHECK(o.out.starts_with("machine,workload,tasks,seeds,profile,void,response_mean_ns,"));
  CHECK(count_of(",two,", o.out) == 2);
}

TEST_CASE("corewise simulate: the same seed gives the same answer, another seed another one") {
  const simulate_shell shell;
  const std::string line = simulate_two_sockets + "--format csv --workload poisson,load=.8 --seed ";
  const std::string first = shell.run(line + "3").out;
  CHECK(!first.empty());
  CHECK(shell.run(line + "3").out == first);
  CHECK(shell.run(line + "4").out != first);
}

TEST_CASE("corewise simulate: a profile whose name is taken gets the name of its file") {
  const simulate_shell shell;
  shell.write("again.yaml", two);
  const outcome o =
      shell.run(simulate_two_sockets + "--workload poisson --profile two.yaml --profile again.yaml");
  CHECK(o.status == 0);
  CHECK(contains(o.out, "\ntwo "));
  CHECK(contains(o.out, "\nagain.yaml "));
}

TEST_CASE("corewise simulate: all errors of all workloads are reported, as wrong usage") {
  const outcome o =
      run("corewise simulate --workload poison,load=0 --workload closed --workload mmpp,clients=3");
  CHECK(o.status == 2);
  CHECK(o.out.empty());
  CHECK(contains(o.err, "corewise: --workload: workload: found \"poison\"; expected one of poisson, mmpp,"));
  CHECK(
      contains(o.err, "corewise: --workload: load: found \"0\"; expected a number above 0 and at most 10\n"));
  CHECK(contains(o.err, "corewise: --workload: clients: found a key that mmpp does not use"));
  CHECK(std::ranges::count(o.err, '\n') == 4);
}

TEST_CASE("corewise simulate: an invalid command line is wrong usage") {
  for (const std::string options :
       {"", "--workload", "--workload poisson --tasks 0", "--workload poisson --seeds 0",
        "--workload poisson --format xml", "--workload poisson stray", "--workload poisson --seed -1"}) {
    CAPTURE(options);
    const outcome o = run("corewise simulate " + options);
    CHECK(o.status == 2);
    CHECK(contains(o.err, "try `corewise simulate --help`"));
  }
}

TEST_CASE("corewise simulate: profiles, machines and traces that cannot be read are named") {
  const simulate_shell shell;
  shell.write("bad.yaml", "version: 1\nstael: {}\n");
  shell.write("bad.csv", "1,2\n0,1\n");
  shell.write("empty.csv", "");
  struct row {
    std::string options, message;
  };
  for (const auto& [options, message] :
       {row{"--workload poisson --profile nowhere.yaml", "nowhere.yaml"},
        row{"--workload poisson --profile plain.yaml --profile bad.yaml", "did you mean \"steal\"?"},
        row{"--workload poisson --machine nowhere.yaml", "nowhere.yaml"},
        row{"--workload poisson --machine x", "no such file, and not a synthetic description"},
        row{"--workload trace,file=nowhere.csv", "nowhere.csv: No such file or directory"},
        row{"--workload trace,file=empty.csv", "empty.csv: has no arrivals"},
        row{"--workload trace,file=bad.csv", "bad.csv:2: time_ns: found 0 after 1"}}) {
    CAPTURE(options);
    const outcome o = shell.run("corewise simulate --tasks 1000 " + options);
    CHECK(o.status == 1);
    CHECK(o.out.empty());
    CHECK(contains(o.err, message));
  }
}

TEST_CASE("corewise simulate: a trace ends the run with its last arrival") {
  const simulate_shell shell;
  std::string trace = "time_ns,service_ns,node,class\n";
  for (int i = 0; i < 500; ++i) trace += std::to_string(i * 10'000) + ",5000," + std::to_string(i % 2) + "\n";
  shell.write("day.csv", trace);
  const outcome o = shell.run(simulate_two_sockets + "--format json --workload trace,file=day.csv");
  REQUIRE(o.status == 0);
  const auto tasks = nlohmann::json::parse(o.out)[0]["profiles"][0]["measured_tasks"].get<int>();
  CHECK(tasks > 400);
  CHECK(tasks <= 500);
}

TEST_CASE(
    "corewise simulate: charts are SVG files, or the command names the missing program before any run") {
  const simulate_shell shell;
  const std::string line =
      simulate_two_sockets + "--workload poisson --charts out/charts --profile two.yaml --profile plain.yaml";
  if (shell.run("command -v gnuplot").status == 0) {
    const outcome o = shell.run(line + " && ls out/charts/*.svg");
    CHECK(o.status == 0);
    CHECK(o.out.ends_with("out/charts/1-poisson-load-1.svg\nout/charts/1-poisson-load-2.svg\n"
                          "out/charts/1-poisson-response.svg\n"));
  }
  const outcome without =
      shell.run("mkdir bin && ln -s \"$(command -v corewise)\" bin/ && PATH=$PWD/bin " + line);
  CHECK(without.status == 1);
  CHECK(without.out.empty());
  CHECK(contains(without.err, "gnuplot-nox"));
}

TEST_CASE("corewise simulate and tune: a workload that would not end is refused") {
  const simulate_shell shell;
  const outcome rare = shell.run(simulate_two_sockets + "--workload poisson,rate=1e-9");
  CHECK(rare.status == 1);
  CHECK(rare.out.empty());
  CHECK(contains(rare.err, "poisson,rate=1e-09,"));
  CHECK(contains(rare.err, " of 20000 tasks the simulated time is over, which is 146 years at most"));
  const outcome short_bursts = shell.run(simulate_two_sockets + "--workload mmpp,rate=1e-9,burst-length=1ns");
  CHECK(short_bursts.status == 1);
  CHECK(contains(short_bursts.err, "burst-length: found 1ns, with which the rate changes 2e+17 times"));
  const outcome tuned = shell.run("corewise tune --machine two-sockets.yaml --tasks 1000 --evaluations 1 "
                                  "--workload poisson,rate=1e-9");
  CHECK(tuned.status == 1);
  CHECK(tuned.out.empty());
  CHECK(contains(tuned.err, "the simulated time is over"));
}

TEST_CASE("corewise simulate: progress is shown on a terminal only") {
  if (run("script -qec true /dev/null").status != 0) {
    MESSAGE("skipped: there is no script(1) to make a terminal");
    return;
  }
  const outcome shown =
      run("script -qec \"corewise simulate --machine 'core:8 pu:1' --workload poisson,load=.7 "
          "--tasks 1000000 > /dev/null\" /dev/null");
  CHECK(shown.status == 0);
  CHECK(contains(shown.out, "\r0 of 1 runs, "));
  CHECK(shown.out.ends_with("\r\033[K"));
}

TEST_CASE("corewise simulate: the help has examples") {
  const outcome o = run("corewise simulate --help");
  CHECK(o.status == 0);
  for (const std::string word : {"Examples:", "poisson", "yield-ring", "--charts", "--seeds"})
    CHECK(contains(o.out, word));
}
