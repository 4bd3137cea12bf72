#include "../shell.hpp"

#include <calibrate/host.hpp>
#include <calibrate/machine_text.hpp>
#include <doctest/doctest.h>

using namespace corewise;
using namespace corewise::command;
using namespace corewise::tests;

namespace {

finding found(double median, double share = 0.05) {
  return {spread{median, median * (1 - share), median * (1 + share), median * share, 100}, "CPUs 0 and 1",
          ""};
}
finding missing(const std::string& why) { return {std::nullopt, "", why}; }

kind_finding kind(const std::string& name, const std::string& cpus, finding capacity) {
  return {name, *cpu_set::parse(cpus), {found(1.5), found(3), found(20)}, std::move(capacity)};
}

calibration with_two_kinds() {
  calibration c;
  c.host = {"2026-01-31 12:00 UTC", "A \"new\" CPU \\ of 2026", {"it is busy"}};
  c.kinds = {kind("slow \"E\"", "1", found(511.6)), kind("P: #1", "0", found(1024))};
  c.costs["submit"] = found(40.25);
  c.costs["waking"] = found(1500, 0.5);
  c.costs["wake_up"] = missing("nobody slept");
  c.costs["transfer.same_group"] = found(1e12);
  return c;
}

/// Checks the file as the command reads it; the machine has 2 CPUs instead of those at hand.
outcome checked(std::string text) {
  const scratch_shell shell;
  text.replace(text.find("source: live"), 12, "source: {synthetic: \"core:2 pu:1\"}");
  shell.write("machine.yaml", text);
  return shell.run("corewise check machine.yaml && corewise topology --machine machine.yaml");
}

} // namespace

TEST_CASE("the file has kinds and costs, with quoted names and with the spread behind each figure") {
  const std::string text = machine_text(with_two_kinds());
  for (const std::string line :
       {"# Measured by `corewise calibrate`, 2026-01-31 12:00 UTC, on A \"new\" CPU \\ of 2026.\n",
        "# Beware: it is busy.\n", "name: \"A \\\"new\\\" CPU \\\\ of 2026\"\n",
        "  - {cpus: \"1\", name: \"slow \\\"E\\\"\", capacity: 512}  # [486, 537], 100 samples\n",
        "  - {cpus: \"0\", name: \"P: #1\", capacity: 1024}",
        "  submit: 40ns  # [38.2, 42.3], 100 samples; CPUs 0 and 1\n",
        "  # wake_up: not measured: nobody slept\n",
        "  waking: 1500ns  # [750.0, 2250.0], 100 samples; noisy: ",
        "  transfer:\n    same_group: 1000000000ns  # ", "  # steal:\n    # same_group: not measured: "})
    CHECK_MESSAGE(contains(text, line), line, " in\n", text);
}

TEST_CASE("a file with kinds of any name is read back as the same") {
  const outcome read = checked(machine_text(with_two_kinds()));
  CHECK_MESSAGE(read.status == 0, read.err);
  CHECK_MESSAGE(contains(read.out, "slow \"E\"  capacity 512"), read.out);
  CHECK(contains(read.out, "P: #1"));
}

TEST_CASE("if one kind was not measured, the file leaves out all kinds") {
  calibration c = with_two_kinds();
  c.kinds[0].capacity = missing("it is tired");
  const std::string text = machine_text(c);
  CHECK_MESSAGE(contains(text, "# kinds: not measured: it is tired\n"), text);
  CHECK_FALSE(contains(text, "\nkinds:"));
  CHECK(contains(text, "#   integer  1.50"));
  CHECK(checked(text).status == 0);
}

TEST_CASE("a file without any figure is still a machine file") {
  calibration c;
  c.host.date = "2026-01-31 12:00 UTC";
  c.costs["submit"] = missing("no time");
  const std::string text = machine_text(c);
  CHECK_MESSAGE(contains(text, "\n# costs:\n  # submit: not measured: no time\n"), text);
  const outcome read = checked(text);
  CHECK_MESSAGE(read.status == 0, read.err);
  CHECK(count_figures(c).measured == 0);
}

TEST_CASE("every cost of a machine file is measured or marked as missing") {
  const figure_count count = count_figures(with_two_kinds());
  CHECK(count.measured == 3);
  CHECK(count.measured + count.missing == 17);
}

TEST_CASE("the name of the CPU is that of the kernel, without characters that a text cannot have") {
  CHECK(cpu_model_in("processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nmodel name\t: other\n") ==
        "AMD EPYC");
  CHECK(cpu_model_in("model name\t: a\tb\n") == "a?b");
  CHECK(cpu_model_in("processor\t: 0\nBogoMIPS\t: 50.00\n").empty());
  CHECK(cpu_model_in("model name").empty());
}
