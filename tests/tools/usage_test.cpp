#include "shell.hpp"

#include <doctest/doctest.h>

using namespace corewise::tests;

TEST_CASE("corewise --help names every command") {
  const outcome help = run("corewise --help");
  CHECK(help.status == 0);
  CHECK(help.err.empty());
  for (const char* command : {"topology", "check", "explain", "fleet", "tune", "calibrate", "run", "health",
                              "dump", "reload", "top", "trace"})
    CHECK(contains(help.out, command));
}

TEST_CASE("each command has a help with its options and examples") {
  for (const std::string command : {"topology", "check", "explain", "fleet", "tune", "calibrate",
                                    "run digest", "health", "dump", "reload", "top", "trace"}) {
    CAPTURE(command);
    const outcome help = run("corewise " + command + " --help");
    CHECK(help.status == 0);
    CHECK(contains(help.out, "Usage: corewise " + command));
    CHECK(contains(help.out, "Examples:\n  corewise " + command));
    const bool answers = command != "calibrate" && command != "health" && command != "reload" &&
                         command != "top" && command != "trace";
    if (command == "fleet") continue; // a table for people
    CHECK(contains(help.out, answers                  ? "--format text|json"
                             : command == "calibrate" ? "--output FILE|-"
                                                      : "--connect"));
  }
}

TEST_CASE("corewise --version prints its name and a number") {
  const outcome version = run("corewise --version");
  CHECK(version.status == 0);
  CHECK(version.out.starts_with("corewise "));
  CHECK(version.out.find_first_of("0123456789") != std::string::npos);
}

TEST_CASE("an invalid command line gives exit status 2 and a reason on standard error") {
  for (const std::string line : {"",
                                 "run",
                                 "nonsense",
                                 "run nonsense",
                                 "topology --nonsense",
                                 "topology surplus",
                                 "topology --format xml",
                                 "topology --color pink",
                                 "topology --workers 0",
                                 "topology --workers 65537",
                                 "topology --workers many",
                                 "topology --machine",
                                 "check",
                                 "explain",
                                 "tune",
                                 "explain --state",
                                 "run digest",
                                 "run digest a b",
                                 "calibrate machine.yaml",
                                 "calibrate --budget"}) {
    CAPTURE(line);
    const outcome wrong = run("corewise " + line);
    CHECK(wrong.status == 2);
    CHECK(wrong.out.empty());
    CHECK(wrong.err.starts_with("corewise: "));
    CHECK(contains(wrong.err, "--help"));
  }
}

TEST_CASE("whole numbers are decimal, and named with their range if they are wrong") {
  CHECK(contains(run("corewise topology --machine 'core:16 pu:1' --workers 10").out, "10 workers"));
  for (const std::string command : {"digest .", "ping-pong"}) {
    const outcome many = run("corewise run " + command + " --workers 60000");
    CHECK(many.status == 2);
    CHECK(contains(many.err, "corewise: found 60000 workers; expected "));
    CHECK(contains(many.err, " at most, since each is a thread here"));
  }
  for (const std::string line :
       {"topology --workers 010", "topology --workers 0x10", "topology --workers +8",
        "topology --workers ' 8'", "topology --workers ''", "topology --workers -1",
        "simulate --workload poisson --tasks 0100", "simulate --workload poisson --seed 007",
        "simulate --workload poisson --seeds 01", "tune --workload poisson --jobs 0x2",
        "tune --workload poisson --seed 01", "fleet --servers 03", "run ping-pong --rounds 010",
        "trace --connect s -o t --seconds 010", "top --connect s --count 010", "top --connect s --count 0",
        "top --connect s --count -1"}) {
    CAPTURE(line);
    const outcome wrong = run("corewise " + line);
    CHECK(wrong.status == 2);
    CHECK_MESSAGE(contains(wrong.err, "expected a whole number from "), wrong.err);
    CHECK(wrong.err.size() < 200);
  }
}

TEST_CASE("run: workers that the profile gives each group, the machine or the headroom are counted as well") {
  const scratch_shell shell;
  shell.write("each.yaml", "workers: {per_group: 4096}\n");
  shell.write("more.yaml", "workers: {per_group: 100, headroom: 4096}\n");
  for (const std::string options :
       {"--profile each.yaml --machine 'pack:16 core:1 pu:1'", "--machine 'pack:8 core:1024 pu:1'",
        "--profile more.yaml --machine 'core:4 pu:1'"})
    for (const std::string command : {"digest .", "ping-pong"}) {
      CAPTURE(options);
      const outcome many = shell.run("timeout 60 corewise run " + command + " " + options);
      CHECK(many.status == 2);
      CHECK(contains(many.err, " at most, since each is a thread here"));
    }
}

TEST_CASE("an error about an unknown command names it and the help to try") {
  CHECK(contains(run("corewise topologie").err, "`topologie` is not a command"));
  CHECK(contains(run("corewise run digest --nonsense .").err, "corewise run digest --help"));
}

TEST_CASE("every command reports an output that cannot be written") {
  for (const std::string line :
       {"topology", "--help", "topology --format json", "explain --state <(echo {})"}) {
    CAPTURE(line);
    for (const std::string to : {">/dev/full", ">&-"}) {
      const outcome full = run("corewise " + line + " " + to);
      CHECK(full.status == 1);
      CHECK(contains(full.err, "corewise: standard output: "));
    }
  }
}

TEST_CASE("closed standard streams are not taken for files") {
  scratch_shell shell;
  shell.write("file", "text");
  const outcome closed = shell.run("corewise run digest file <&- 2>&-");
  CHECK(closed.status == 0);
  CHECK(closed.out == shell.run("sha256sum file").out);
  CHECK(shell.run("corewise run digest file >&-").status == 1);
  CHECK(shell.run("cat file").out == "text");
}
