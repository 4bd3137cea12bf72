#include "shell.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace corewise::tests;
using nlohmann::json;

namespace {

const std::string good = "version: 1\nname: good\n";
const std::string bad = "version: 1\nqueues: {local: -3}\nstael: {policy: none}\n";

} // namespace

TEST_CASE("a valid profile is ok") {
  scratch_shell shell;
  shell.write("good.yaml", good);
  const outcome checked = shell.run("corewise check good.yaml");
  CHECK(checked.status == 0);
  CHECK(checked.out == "good.yaml: ok\n");
  CHECK(checked.err.empty());
}

TEST_CASE("all errors of all files are named with their places and the exit status is 1") {
  scratch_shell shell;
  shell.write("good.yaml", good);
  shell.write("bad.yaml", bad);
  const outcome checked = shell.run("corewise check bad.yaml good.yaml missing.yaml");
  CHECK(checked.status == 1);
  CHECK(checked.out == "good.yaml: ok\n");
  CHECK_MESSAGE(contains(checked.err, "bad.yaml:2:17: queues.local: "), checked.err);
  CHECK_MESSAGE(contains(checked.err, "bad.yaml:3:1: stael: "), checked.err);
  CHECK_MESSAGE(contains(checked.err, "steal"), checked.err);
  CHECK_MESSAGE(contains(checked.err, "missing.yaml"), checked.err);
}

TEST_CASE("a profile can come from standard input") {
  scratch_shell shell;
  shell.write("good.yaml", good);
  shell.write("bad.yaml", bad);
  CHECK(shell.run("corewise check - < good.yaml").status == 0);
  const outcome checked = shell.run("corewise check - < bad.yaml");
  CHECK(checked.status == 1);
  CHECK_MESSAGE(contains(checked.err, "standard input:2:17: queues.local: "), checked.err);
}

TEST_CASE("a machine file is checked as one") {
  scratch_shell shell;
  shell.write("machine.yaml", two_sockets);
  CHECK(shell.run("corewise check machine.yaml").status == 0);
  shell.write("bad.yaml",
              "source: {synthetic: \"core:2 pu:1\"}\nkinds:\n  - {cpus: 0-1, name: P, capacity: 5000}\n");
  const outcome checked = shell.run("corewise check bad.yaml");
  CHECK(checked.status == 1);
  CHECK_MESSAGE(contains(checked.err, "bad.yaml:3:"), checked.err);
}

TEST_CASE("the warnings of a machine file are told") {
  scratch_shell shell;
  shell.write("machine.yaml", "source: {synthetic: \"pack:1 core:2 pu:1\"}\n"
                              "kinds: [{cpus: 0, name: P}, {cpus: 80-90, name: E}]\n");
  const outcome checked = shell.run("corewise check machine.yaml");
  CHECK(checked.status == 0);
  const std::string told = checked.out + checked.err;
  CAPTURE(told);
  CHECK(contains(told, "kind"));
  CHECK(told != "machine.yaml: ok\n");
}

TEST_CASE("a machine file is recognised wherever it comes from") {
  scratch_shell shell;
  shell.write("machine.yaml", two_sockets);
  shell.write("marked.yaml", "\xEF\xBB\xBF" + two_sockets);
  shell.write("marked-profile.yaml", "\xEF\xBB\xBF" + good);
  shell.write("bad.yaml", "source: {synthetic: \"core:2 pu:1\"}\nkinds: 7\n");
  for (const std::string checked :
       {"- < machine.yaml", "<(cat machine.yaml)", "marked.yaml", "- < marked.yaml", "<(cat marked.yaml)",
        "marked-profile.yaml", "- < marked-profile.yaml"}) {
    CAPTURE(checked);
    const outcome o = shell.run("corewise check " + checked);
    CHECK_MESSAGE(o.status == 0, o.err);
    CHECK(contains(o.out, ": ok\n"));
  }
  CHECK(contains(shell.run("corewise check - < bad.yaml").err, "standard input:2:"));
}

TEST_CASE("a machine file is recognised in braces, indented, and with a stray key") {
  const scratch_shell shell;
  const std::string source = "source: {synthetic: \"core:2 pu:1\"}";
  for (const std::string& file : std::vector<std::string>{
           "{" + source + ", kinds: [{cpus: 0, name: P}]}", "{\"source\": {\"synthetic\": \"core:2 pu:1\"}}",
           "# one\n\n  name: m\n  " + source + "\n", "--- # two\n" + source + "\n"}) {
    CAPTURE(file);
    shell.write("machine.yaml", file);
    const outcome checked = shell.run("corewise check machine.yaml");
    CHECK_MESSAGE(checked.status == 0, checked.err);
  }
  for (const std::string& file : std::vector<std::string>{
           "{" + source + ",\n  stray: 1}\n", "  " + source + "\n  stray: 1\n", source + "\nstray: 1\n"}) {
    CAPTURE(file);
    shell.write("machine.yaml", file);
    const outcome checked = shell.run("corewise check machine.yaml");
    CHECK(checked.status == 1);
    CHECK(checked.err.starts_with("machine.yaml:2:"));
    CHECK(contains(checked.err, ": stray: found an unknown key; "));
    CHECK(
        contains(checked.err, "the keys here are version, name, source, kinds, distances, costs, energy\n"));
    CHECK(count_of("\n", checked.err) == 1);
  }
  shell.write("machine.yaml", "costs: {run: 1us}\n");
  CHECK(contains(shell.run("corewise check machine.yaml").err, "source: found nothing; expected live"));
}

TEST_CASE("a profile with a part of its topology at the left margin is judged as a profile") {
  scratch_shell shell;
  for (const std::string misplaced :
       {"kinds: [{cpus: 0-1, name: P}]", "distances: [[10]]", "source: {synthetic: \"core:2 pu:1\"}"})
    for (const std::string of_profiles :
         {"topology: {hfi: false}", "workers: {pin: none}", "queues : {budget: 77}", "strict: true",
          "engines:\n  per: node", "on_exception: report"}) {
      CAPTURE(misplaced);
      CAPTURE(of_profiles);
      shell.write("profile.yaml", "version: 1\n" + misplaced + "\n" + of_profiles + "\n");
      const outcome checked = shell.run("corewise check profile.yaml");
      CHECK(checked.status == 1);
      CHECK(contains(checked.err, "profile.yaml:2:1: "));
      CHECK(contains(checked.err, "found an unknown key"));
      CHECK_FALSE(contains(checked.err, "profile.yaml:3:"));
    }
}

TEST_CASE("- is standard input, also beside a file of that name") {
  scratch_shell shell;
  shell.write("-", bad);
  shell.write("good.yaml", good);
  CHECK(shell.run("corewise check - < good.yaml").status == 0);
  CHECK(shell.run("corewise check ./-").status == 1);
}

TEST_CASE("a machine file that no command can use is refused") {
  scratch_shell shell;
  shell.write("none.xml", "<nothing/>\n");
  for (const std::string machine : {"source: {synthetic: \"foo\"}", "source: {xml: none.xml}",
                                    "source: {synthetic: \"numa:2 core:2 pu:1\"}\ndistances: [[10]]"}) {
    CAPTURE(machine);
    shell.write("machine.yaml", machine + '\n');
    const outcome in_place = shell.run("corewise check machine.yaml");
    CHECK(in_place.status == 1);
    CHECK(in_place.out.empty());
    CHECK(contains(in_place.err, "machine.yaml: "));
    CHECK(shell.run("corewise topology --machine machine.yaml").status == 1); // as it is used
    CHECK(contains(shell.run("corewise check - < machine.yaml").err, "standard input: "));
  }
}

TEST_CASE("with --machine a profile is tried on that machine") {
  scratch_shell shell;
  shell.write("profile.yaml", "version: 1\ntopology: {use: {packages: [1]}}\n");
  CHECK(shell.run("corewise check profile.yaml").status == 0);
  CHECK(shell.run("corewise check --machine 'pack:2 core:2 pu:1' profile.yaml").status == 0);
  const outcome tried = shell.run("corewise check --machine 'pack:1 core:2 pu:1' profile.yaml");
  CHECK(tried.status == 1);
  CHECK(contains(tried.err, "profile.yaml: topology.use.packages: there is no package 1"));
}

TEST_CASE("with --machine several profiles are tried on a machine file in a pipe") {
  const scratch_shell shell;
  shell.write("good.yaml", good);
  shell.write("machine.yaml", two_sockets);
  const outcome tried = shell.run("corewise check good.yaml good.yaml --machine <(cat machine.yaml)");
  CHECK_MESSAGE(tried.status == 0, tried.err);
  CHECK(count_of("good.yaml: ok\n", tried.out) == 2);
}

TEST_CASE("with --machine a profile is warned of what that machine has not, or refused where it is strict") {
  scratch_shell shell;
  const std::string more = "topology: {use: {cpus: \"0,40-50\"}}\n";
  shell.write("loose.yaml", more);
  shell.write("strict.yaml", "strict: true\n" + more);
  const std::string check = "corewise check --machine 'pack:1 core:2 pu:1' ";
  const outcome loose = shell.run(check + "loose.yaml");
  CHECK(loose.status == 0);
  CHECK(contains(loose.err, "loose.yaml: warning: topology.use.cpus: CPUs 40-50 are absent"));
  const outcome strict = shell.run(check + "strict.yaml");
  CHECK(strict.status == 1);
  CHECK(contains(strict.err, "strict.yaml: the profile is strict, and the machine cannot fulfil"));
  const json verdicts = json::parse(shell.run(check + "--format json loose.yaml").out, nullptr, false);
  CHECK(verdicts[0]["warnings"].size() == 1);
}

TEST_CASE("the verdict in JSON has a place for each issue") {
  scratch_shell shell;
  shell.write("good.yaml", good);
  shell.write("bad.yaml", bad);
  const outcome checked = shell.run("corewise check --format json good.yaml bad.yaml");
  CHECK(checked.status == 1);
  const json verdicts = json::parse(checked.out, nullptr, false);
  REQUIRE(verdicts.size() == 2);
  CHECK(verdicts[0] == json::parse(R"({"file": "good.yaml", "ok": true, "issues": [], "warnings": []})"));
  CHECK(verdicts[1]["ok"] == false);
  REQUIRE(verdicts[1]["issues"].size() == 2);
  for (const json& issue : verdicts[1]["issues"])
    CHECK(keys_of(issue) == std::set<std::string>{"file", "line", "column", "key", "message"});
}

TEST_CASE("hostile profiles are refused quickly and in little memory") {
  scratch_shell shell;
  const std::string limited = sanitized() ? "timeout 20 " : "ulimit -v 600000; timeout 5 ";
  for (const std::string make :
       {"head -c 10000000 /dev/zero", "head -c 10000000 /dev/urandom", "yes -- '- a' | head -c 10000000",
        "yes -- '[' | head -c 100000 | tr -d '\\n'", "printf 'version: 1\\0'", "cat /dev/zero"}) {
    CAPTURE(make);
    CHECK(shell.run(limited + "corewise check <(" + make + ")").status == 1);
    CHECK(shell.run(make + " | (" + limited + "corewise check -)").status == 1);
  }
}
