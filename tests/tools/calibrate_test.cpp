#include "shell.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>

using namespace corewise::tests;

namespace {

/// Measures quickly and writes a file, which must be right, not exact.
outcome calibrated(const scratch_shell& shell, const std::string& before = "") {
  return shell.run(before + "corewise calibrate --budget 300ms --output machine.yaml && cat machine.yaml");
}

void check_is_accepted(const scratch_shell& shell) {
  const outcome checked = shell.run("corewise check machine.yaml");
  CHECK_MESSAGE(checked.status == 0, checked.err);
  const outcome shown = shell.run("corewise topology --machine machine.yaml");
  CHECK_MESSAGE(shown.status == 0, shown.err);
  CHECK(contains(shown.out, "machine:machine.yaml"));
}

} // namespace

TEST_CASE("a measured machine file is accepted like any machine file") {
  const scratch_shell shell;
  const outcome measured = calibrated(shell);
  REQUIRE_MESSAGE(measured.status == 0, measured.err);
  check_is_accepted(shell);
  CHECK(contains(measured.out, "machine.yaml: "));
  CHECK(contains(measured.out, "let `source` name that: {xml: machine.xml}.\nsource: live\n"));
}

TEST_CASE("a measured machine file tells time, machine and spread of its figures") {
  const outcome measured = run("corewise calibrate --budget 300ms");
  REQUIRE_MESSAGE(measured.status == 0, measured.err);
  CHECK(measured.out.starts_with("# Measured by `corewise calibrate`, 2"));
  CHECK(contains(measured.out, " UTC, on "));
  CHECK(contains(measured.out, " samples"));
  CHECK_MESSAGE(measured.err.empty(), measured.err);
}

TEST_CASE("a machine file leaves out figures that the machine cannot tell, and says why") {
  const scratch_shell shell;
  const outcome measured = calibrated(shell);
  REQUIRE_MESSAGE(measured.status == 0, measured.err);
  CHECK(contains(measured.out, "# energy: not measured: "));
  CHECK(contains(measured.out, "  # slowdown:\n    # same_package: not measured: "));
  CHECK(contains(measured.out, "    # shared_core: not measured: "));
  const bool one_kind = contains(shell.run("corewise topology").out, "1 kind,");
  CHECK(contains(measured.out, "# kinds: not measured: one kind of core: nothing to compare") == one_kind);
  CHECK(contains(measured.out, "\nkinds:\n") != one_kind);
}

TEST_CASE("on one CPU the file has no figures between two CPUs") {
  const scratch_shell shell;
  const outcome measured =
      calibrated(shell, "taskset -c $(taskset -cp $$ | sed 's/.*: //; s/[-,].*//') true || exit 77\n"
                        "taskset -c $(taskset -cp $$ | sed 's/.*: //; s/[-,].*//') ");
  if (measured.status == 77) {
    MESSAGE("skipped: no taskset");
    return;
  }
  REQUIRE_MESSAGE(measured.status == 0, measured.err);
  check_is_accepted(shell);
  CHECK(contains(measured.out, "  # wake_up: not measured: there is one CPU to use"));
  CHECK(contains(measured.out, "  # transfer:\n    # same_group: not measured: there is one CPU to use"));
  CHECK(contains(measured.out, "  # steal:\n    # same_group: not measured: there is one CPU to use"));
  CHECK(contains(measured.out, "\n  submit: "));
}

TEST_CASE("calibrating takes its budget of time, and little more") {
  using namespace std::chrono_literals;
  const auto took = [](const std::string& budget) {
    const auto begin = std::chrono::steady_clock::now();
    CHECK(run("corewise calibrate --budget " + budget).status == 0);
    return std::chrono::steady_clock::now() - begin;
  };
  // The least of three, as other programs may have the machine for a while.
  const auto least = [&](const std::string& budget) {
    return std::min({took(budget), took(budget), took(budget)});
  };
  CHECK(least("0.5s") < 0.5s + 5s);
  CHECK(took("2s") > 1.5s);
}

TEST_CASE("progress is shown on a terminal only") {
  if (run("script -qec true /dev/null").status != 0) {
    MESSAGE("skipped: there is no script(1) to make a terminal");
    return;
  }
  const outcome shown = run("script -qec 'corewise calibrate --budget 300ms > /dev/null' /dev/null");
  CHECK(shown.status == 0);
  CHECK(contains(shown.out, "% of 300ms: "));
  CHECK(shown.out.ends_with("\r\033[K"));
}

TEST_CASE("a file is overwritten only with --force") {
  const scratch_shell shell;
  shell.write("machine.yaml", "mine\n");
  const outcome refused = shell.run("corewise calibrate --budget 100ms --output machine.yaml");
  CHECK(refused.status == 1);
  CHECK(refused.err == "corewise: machine.yaml (--force overwrites it): File exists\n");
  CHECK(shell.run("cat machine.yaml").out == "mine\n");
  CHECK(shell.run("corewise calibrate --budget 100ms --force --output machine.yaml").status == 0);
  CHECK(contains(shell.run("cat machine.yaml").out, "source: live"));
}

TEST_CASE("if the machine file cannot be written, nothing is measured") {
  const outcome refused = run("corewise calibrate --output missing/machine.yaml");
  CHECK(refused.status == 1);
  CHECK(refused.err == "corewise: missing/machine.yaml: No such file or directory\n");
}

TEST_CASE("an invalid budget is wrong usage") {
  for (const std::string budget :
       {"10", "s", "-1s", "0s", "99ms", "61min", "1e3s", "'10 s'", "nans", "10sec"}) {
    CAPTURE(budget);
    const outcome refused = run("corewise calibrate --budget=" + budget);
    CHECK(refused.status == 2);
    CHECK_MESSAGE(contains(refused.err, "expected a time from 100ms to 60min"), refused.err);
  }
}
