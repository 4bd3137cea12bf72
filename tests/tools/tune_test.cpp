#include "shell.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace corewise::tests;
using nlohmann::json;

namespace {

/// So small that it takes a second or two.
const std::string small = " --tasks 2000 --seeds 2 --held-out 8 --evaluations 12";
const std::string equal_cores = "corewise tune --machine 'core:8 pu:1' --workload poisson,load=.7" + small;

/// The last line of the profile's opening comment.
std::string command_in(const std::string& yaml) {
  const std::size_t at = yaml.find("#   corewise tune ");
  return at == std::string::npos ? "" : yaml.substr(at + 4, yaml.find('\n', at) - at - 4);
}

} // namespace

TEST_CASE(
    "corewise tune: with equal cores in one domain and workers that spin it reports no gain beyond luck") {
  scratch_shell shell;
  shell.write("spins.yaml", "idle: {searchers_per_mille: 1000, spin: 500us}\n");
  for (const std::string seed : {"1", "101", "201"}) {
    const std::string file = "tuned" + seed + ".yaml";
    const outcome tuned = shell.run(equal_cores + " --from spins.yaml --seed " + seed + " --output " + file);
    CAPTURE(tuned.out);
    CHECK(tuned.status == 0);
    CHECK(tuned.err.empty());
    CHECK(contains(tuned.out, "No gain ")); // beyond luck, or that is worth a change
    CHECK(contains(tuned.out, "Written to " + file));
    CHECK(shell.run("grep -v '^#' " + file).out ==
          "\nversion: 1\n\nidle:\n  searchers_per_mille: 1000\n  spin: 500us\n");
    CHECK(contains(shell.run("cat " + file).out, "# No gain "));
    CHECK(shell.run("corewise check " + file).status == 0);
  }
}

TEST_CASE("corewise tune: it states its assumption about the energy if the machine does not describe it") {
  const scratch_shell shell;
  const std::string line = "corewise tune --workload poisson,load=.7 --goal energy --machine ";
  const outcome assumed = shell.run(line + "'core:8 pu:1'" + small);
  CHECK(assumed.status == 0);
  CHECK(contains(assumed.err,
                 "\nAssumed: a core draws 4 W while it works or searches and 0.2 W while it sleeps"));
  CHECK(contains(assumed.out, "# Assumed: a core draws 4 W"));
  shell.write("weighed.yaml",
              two_sockets + "energy:\n  P: {active: 5, idle: 0.3}\n  E: {active: 2, idle: 0.1}\n");
  const outcome known = shell.run(line + "weighed.yaml" + small);
  CHECK_MESSAGE(known.status == 0, known.err);
  CHECK_FALSE(contains(known.err, "Assumed"));
}

TEST_CASE("corewise tune: it states the cost of a core's second thread where the machine has such threads") {
  const std::string line = "corewise tune --workload poisson,load=.7" + small + " --machine ";
  CHECK(contains(run(line + "'core:4 pu:2'").err,
                 "\nA task is taken to last 1.6 times as long beside a task on the "
                 "other thread of its core (costs.slowdown.shared_core).\n"));
  CHECK_FALSE(contains(run(line + "'core:8 pu:1'").err, "shared_core"));
}

TEST_CASE("corewise tune: it says that throughput tells nothing when tasks come at a given rate") {
  const std::string line = "corewise tune --machine 'core:8 pu:1' --goal throughput" + small + " --workload ";
  for (const std::string w : {"poisson,load=.7", "mmpp,rate=1000", "fork-join,load=.5"}) {
    const outcome constant = run(line + w);
    CHECK(constant.status == 0);
    CHECK(contains(constant.err, "The tasks of " + w + " come at a given rate"));
  }
  for (const std::string w : {"poisson,load=2", "closed", "yield-ring"}) {
    const outcome varies = run(line + w);
    CHECK(varies.status == 0);
    CHECK_FALSE(contains(varies.err, "come at a given rate"));
  }
}

TEST_CASE("corewise tune: of a trace it says that all seeds have the same arrivals, and how many") {
  scratch_shell shell;
  std::string trace;
  for (int i = 0; i < 1500; ++i) trace += std::to_string(i * 2000) + ",10000\n";
  shell.write("day.csv", trace);
  const std::string line = "corewise tune --machine 'core:8 pu:1' --workload trace,file=day.csv" + small;
  const outcome tuned = shell.run(line);
  CHECK(tuned.status == 0);
  const std::string said =
      "All seeds have the arrivals of day.csv; the interval says nothing of another day.";
  CHECK(contains(tuned.err, said));
  CHECK(contains(tuned.out, "# " + said));
  CHECK(contains(tuned.out, ", 1500 tasks each"));
  CHECK(contains(command_in(tuned.out), " --tasks 2000 "));
  CHECK(json::parse(shell.run(line + " --format json").out)["tasks"] == 1500);
}

TEST_CASE("corewise tune: a budget that is too small for the figures alone is told, and the search goes on") {
  const std::string line = "corewise tune --machine 'core:8 pu:1' --workload poisson,load=.7" + small;
  const outcome tuned = run(line + " --budget 1ms");
  CHECK(tuned.status == 0);
  CHECK(tuned.err.starts_with("corewise: the budget is 0.001 s, but tuning needs about "));
  CHECK(contains(tuned.err, " s for its figures alone; fewer --tasks, --seeds or --held-out\n"));
  CHECK(contains(tuned.out, "version: 1\n"));
  for (const std::string budget : {"", " --budget 10h"})
    CHECK_FALSE(contains(run(line + budget).err, "the budget is"));
}

TEST_CASE("corewise tune: the command in a tuned profile makes it again") {
  scratch_shell shell;
  shell.write("it's.yaml", two_sockets);
  const outcome tuned =
      shell.run("corewise tune --machine \"it's.yaml\" --workload fork-join,load=.4 --budget 20s" + small +
                " --output -");
  CHECK(tuned.status == 0);
  CHECK(contains(tuned.err, "judged on seeds 3 to 10"));
  const std::string again = command_in(tuned.out);
  CHECK(contains(again, R"(--machine $'it\'s.yaml')"));
  CHECK(shell.run(again).out == tuned.out);
  shell.write("tuned.yaml", tuned.out);
  CHECK(shell.run("corewise check tuned.yaml").out == "tuned.yaml: ok\n");
}

TEST_CASE("corewise tune --format json answers one object with a fixed set of keys") {
  const outcome tuned = run(equal_cores + " --format json");
  REQUIRE(tuned.status == 0);
  const json answer = json::parse(tuned.out);
  CHECK(keys_of(answer) ==
        std::set<std::string>{
            "machine",        "start",        "gained",        "shipped", "basis",          "findings",
            "over_start",     "over_default", "over_purposes", "price",   "p99_over_start", "by_workload",
            "searched_ratio", "changes",      "tasks",         "seeds",   "held_out_seeds", "evaluations",
            "exhausted",      "command",      "output",        "profile"});
  CHECK(answer["machine"] == "synthetic:core:8 pu:1");
  CHECK(answer["gained"] == false);
  CHECK(answer["evaluations"] == 12);
  CHECK(answer["seeds"] == json{1, 2});
  CHECK(answer["held_out_seeds"] == json{3, 10});
  CHECK(keys_of(answer["over_start"]) ==
        std::set<std::string>{"ratio", "low", "high", "median", "beyond_luck"});
  CHECK(answer["over_purposes"].size() >= 2); // all but the start and perhaps the answer
  CHECK(keys_of(answer["over_purposes"][0]) ==
        std::set<std::string>{"name", "ratio", "low", "high", "median", "beyond_luck"});
  CHECK(keys_of(answer["price"]) == std::set<std::string>{"start", "found"});
  CHECK(keys_of(answer["price"]["found"]) ==
        std::set<std::string>{"awake_without_task_share", "wake_ups_per_task", "joules_per_task"});
  CHECK(keys_of(answer["changes"][0]) == std::set<std::string>{"key", "before", "after", "searched"});
  CHECK(answer["output"].is_null());
}

TEST_CASE("corewise tune: it knows the shipped profiles without their files, and tells the price of a gain") {
  scratch_shell shell;
  const outcome tuned =
      shell.run("corewise tune --machine 'core:16 pu:1' --tasks 10000 --seeds 2 --held-out 8 "
                "--workload poisson,load=.7,service=fixed:10us --evaluations 1 --output t.yaml");
  CAPTURE(tuned.out);
  REQUIRE(tuned.status == 0);
  CHECK(contains(tuned.out, "Gain: p99"));
  CHECK(contains(tuned.out, "Beside the shipped profiles, p99 of the response time: "));
  CHECK(contains(tuned.out, " than with throughput"));
  CHECK(contains(tuned.out, "The cost: workers are awake without a task for "));
  CHECK(contains(tuned.out, " energy per task.\nAssumed: a core draws 4 W"));
  CHECK(shell.run("corewise check t.yaml").status == 0);
}

TEST_CASE("corewise tune: progress is shown on a terminal only") {
  if (run("script -qec true /dev/null").status != 0) {
    MESSAGE("skipped: there is no script(1) to make a terminal");
    return;
  }
  const outcome shown = run("script -qec \"corewise tune --machine 'core:8 pu:1' --workload poisson,load=.7 "
                            "--tasks 20000 --seeds 2 "
                            "--held-out 2 --evaluations 30 > /dev/null\" /dev/null");
  CHECK(shown.status == 0);
  CHECK(contains(shown.out, " profiles in "));
  CHECK(contains(shown.out, "\r\033[K")); // and gone before the report
}

TEST_CASE("corewise tune keeps the other settings of the start profile") {
  scratch_shell shell;
  shell.write("server.yaml", "name: server\nqueues: {local: 64}\n");
  const outcome tuned = shell.run(equal_cores + " --from server.yaml");
  CHECK(tuned.status == 0);
  CHECK(contains(tuned.out, "# began with server.yaml"));
  CHECK(contains(tuned.out, "queues:\n  local: 64\n"));
}

TEST_CASE("corewise tune overwrites a file only with --force, and refuses before it searches") {
  scratch_shell shell;
  shell.write("there.yaml", "version: 1\n");
  const std::string long_one = "timeout 5 corewise tune --machine 'core:8 pu:1' --workload poisson,load=.7 "
                               "--evaluations 100000 --output ";
  const outcome refusal = shell.run(long_one + "there.yaml");
  CHECK(refusal.status == 1);
  CHECK(contains(refusal.err, "there.yaml (--force overwrites it): File exists"));
  CHECK(shell.run("cat there.yaml").out == "version: 1\n");
  CHECK(shell.run(equal_cores + " --output there.yaml --force").status == 0);
  CHECK(contains(shell.run("cat there.yaml").out, "corewise tune"));
  CHECK(contains(shell.run(long_one + "no/such/folder").err, "no/such/folder: No such file or directory"));
}

TEST_CASE("corewise tune --force replaces a file as a whole, or leaves it as it was") {
  const scratch_shell shell;
  shell.write("there.yaml", "version: 1\n");
  // No file may grow, as if the disk were full.
  const outcome full = shell.run("(trap '' XFSZ; ulimit -f 0; " + equal_cores +
                                 " --output there.yaml --force; echo $?) 2>&1 | cat");
  CHECK(contains(full.out, "corewise: there.yaml: File too large\n1\n"));
  CHECK(shell.run("cat there.yaml").out == "version: 1\n");
  CHECK(shell.run("ls -A").out == shell.run("ls").out); // nothing is left beside it
  const outcome fresh = shell.run("(trap '' XFSZ; ulimit -f 0; " + equal_cores +
                                  " --output fresh.yaml; echo $?) 2>&1 | cat; test -e fresh.yaml");
  CHECK(fresh.status == 1);

  shell.run("chmod 640 there.yaml; mkdir folder; ln -s ../there.yaml folder/link.yaml");
  CHECK(shell.run(equal_cores + " --output folder/link.yaml --force").status == 0);
  CHECK(shell.run("stat -c %a there.yaml").out == "640\n");
  CHECK(contains(shell.run("cat there.yaml").out, "corewise tune"));
  CHECK(shell.run("test -L folder/link.yaml; ls -A folder").out == "link.yaml\n");
  CHECK(shell.run(equal_cores + " --output /dev/null").status == 0);
  CHECK(shell.run("umask 027; " + equal_cores + " --output new.yaml; stat -c %a new.yaml")
            .out.ends_with("640\n"));
}

TEST_CASE("corewise tune writes into a pipe or a device, also behind a link") {
  const scratch_shell shell;
  for (const std::string force : {"", " --force"}) {
    const std::string tune = equal_cores + force + " --output ";
    CAPTURE(tune);
    const outcome piped = shell.run("(" + tune + "/dev/stdout; echo status $?) | cat");
    CHECK_MESSAGE(contains(piped.out, "version: 1\n"), piped.err);
    CHECK(contains(piped.out, "status 0\n"));
    CHECK(contains(piped.err, " profiles on seeds "));
    CHECK_FALSE(contains(piped.out, " profiles on seeds 1 to "));
    const outcome named = shell.run(tune + "/dev/fd/3 3>&1 >/dev/null | cat");
    CHECK_MESSAGE(contains(named.out, "version: 1\n"), named.err);
    const outcome substituted = shell.run("{ " + tune +
                                          ">(cat >got; echo end >done); } >/dev/null; "
                                          "until test -s done; do sleep .01; done; cat got; rm got done");
    CHECK_MESSAGE(contains(substituted.out, "version: 1\n"), substituted.err);
    const outcome full = shell.run(tune + "/dev/full");
    CHECK(full.status == 1);
    CHECK(contains(full.err, "/dev/full: No space left on device"));
  }
}

TEST_CASE("corewise tune refuses before it searches what is a directory, or a link to a file that may come") {
  const scratch_shell shell;
  shell.run(
      "mkdir folder; ln -s folder to-folder; ln -s nothing dangling; echo mine >file; ln -s file to-file");
  const std::string long_one = "timeout 5 corewise tune --machine 'core:8 pu:1' --workload poisson,load=.7 "
                               "--evaluations 100000 ";
  for (const std::string folder : {"folder", "to-folder", "folder --force"})
    CHECK(contains(shell.run(long_one + "--output " + folder).err, "folder: Is a directory"));
  for (const std::string link : {"dangling", "to-file"})
    CHECK(contains(shell.run(long_one + "--output " + link).err,
                   link + " (--force overwrites it): File exists"));
  CHECK(shell.run("cat file; ls").out == "mine\ndangling\nfile\nfolder\nto-file\nto-folder\n");
}

TEST_CASE("corewise tune: a report that is lost is an error, and the profile is there") {
  const outcome lost = run(equal_cores + " 2>/dev/full");
  CHECK(lost.status == 1);
  CHECK(contains(lost.out, "version: 1\n"));
}

TEST_CASE("corewise tune: an invalid command line is refused") {
  for (const std::string line :
       {"", "--workload", "--workload poisson --goal speed", "--workload poisson --budget 5",
        "--workload poisson --budget soon", "--workload poisson --held-out 1", "--workload poisson --seeds 0",
        "--workload poisson --surplus"}) {
    CAPTURE(line);
    const outcome wrong = run("corewise tune " + line);
    CHECK(wrong.status == 2);
    CHECK(wrong.err.starts_with("corewise: "));
    CHECK(contains(wrong.err, "corewise tune --help"));
  }
}

TEST_CASE("corewise tune: errors of the workload, the machine and the profile are reported") {
  const outcome workload = run("corewise tune --workload poison,lod=.7");
  CHECK(workload.status == 2);
  CHECK(contains(workload.err, "corewise: --workload: workload: found "));
  const outcome machine = run("corewise tune --machine nonsense.yaml --workload poisson");
  CHECK(machine.status == 1);
  CHECK(contains(machine.err, "nonsense.yaml"));
  const outcome from = run("corewise tune --from missing.yaml --workload poisson");
  CHECK(from.status == 1);
  CHECK(contains(from.err, "missing.yaml"));
  const outcome cpu = run("corewise tune --machine 'core:4 pu:1' --workload poisson,from=cpu:77");
  CHECK(cpu.status == 1);
  CHECK(contains(cpu.err, "from=cpu:77"));
}

TEST_CASE("corewise tune: a search of no profile can be done again by the command that it prints") {
  scratch_shell shell;
  const outcome tuned = shell.run("corewise tune --machine 'core:2 pu:1' --tasks 1000 --seeds 1 --held-out 2 "
                                  "--workload poisson,load=.5 --evaluations 0");
  CAPTURE(tuned.err);
  CHECK(tuned.status == 0);
}
