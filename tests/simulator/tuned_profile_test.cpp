#include "tuning_bench.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace corewise;
using namespace corewise::tests;

namespace {

tuning_figures slope(const profile& p, std::size_t, std::uint64_t seed) {
  return all_figures(0.01 * noise_of(seed, 0) + 0.05 * off(p.dispatch.weights.spill.cross_package, 60) +
                     (p.dispatch.weights.score == score_kind::count ? 0 : 0.03));
}

const tuning_options options{.seeds = 2, .evaluations = 150};

tuning_result found_from(const profile& start) {
  return tune(bench_engine(), start, fields_of(start), slope, options);
}

tuning_story story() {
  return {"two-sockets.yaml",
          "the defaults",
          {"poisson,load=.7", "closed,clients=64"},
          "corewise tune ...",
          1000};
}

bool contains(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

/// The text without the comment before it.
std::string body_of(const std::string& text) { return text.substr(text.find("version: 1")); }

} // namespace

TEST_CASE(
    "a tuned profile states its purpose, its gain, the old values and the command that makes it again") {
  const profile start = on_two_packages();
  const std::string text = tuned_profile_text(found_from(start), profile{}, options, story());
  CAPTURE(text);
  for (const char* said :
       {"# machine    two-sockets.yaml\n", "# workload   poisson,load=.7\n",
        "# workload   closed,clients=64\n", "# goal       p99", "# began with the defaults\n",
        "on seeds 1-2, 1000 tasks each", "seeds 3-22, which",
        "# Gain: p99 of the response time: ", "with 99% certainty from ", "#   corewise tune ...\n",
        "  score: count  # was expected_delay\n", "    cross_package: ", "  # was 16\n",
        "left unchanged: topology.group_by (llc), topology.group_max (16), "})
    CHECK_MESSAGE(contains(text, said), said);
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    CHECK(text.find('\n', at) - at <= 120);
}

TEST_CASE("a tuned profile has the found values when it is read, and keeps the other settings") {
  profile file;
  file.name = R"(quoted "name": #1)";
  file.queues.local = 64;
  file.queues.lifo_age.reset();
  file.topology.machine.use.packages = {0, 1};
  profile start = file;
  const profile machine = on_two_packages();
  start.topology.machine.source = machine.topology.machine.source;
  start.topology.machine.kinds = machine.topology.machine.kinds;
  const tuning_result r = found_from(start);
  REQUIRE(r.gained);

  const std::string text = tuned_profile_text(r, file, options, story());
  CAPTURE(text);
  const profile read = parse_profile(text);
  CHECK(read.name == file.name + "-tuned");
  profile expected = file;
  expected.name = read.name;
  for (const auto& c : r.changes) {
    CHECK_MESSAGE(c.field.read(read) == c.after, c.field.key);
    c.field.write(expected, c.after);
  }
  CHECK(profile_text(read) == profile_text(expected)); // the machine of the search is not in it
}

TEST_CASE("without a gain the command writes the start profile, and says so") {
  const profile start = on_machine("core:8 pu:1");
  const auto same = [](const profile&, std::size_t, std::uint64_t) { return all_figures(0); };
  const tuning_result r = tune(bench_engine(), start, fields_of(start), same, options);
  CHECK_FALSE(r.gained);
  profile file;
  file.queues.local = 64;
  const std::string text = tuned_profile_text(r, file, options, story());
  CHECK(contains(text, "No gain beyond luck"));
  CHECK(contains(text, "left unchanged: dispatch.spill.same_domain (2), steal.batch_max (128), "));
  CHECK(contains(text, "idle.searchers_per_mille (500), idle.spin (20us)\n"));
  CHECK(body_of(text) == profile_text(file));
  CHECK(findings(r, options).front().starts_with("No gain beyond luck"));
}

TEST_CASE("a certain but tiny gain is reported as such, not as luck") {
  const profile start = on_machine("core:8 pu:1");
  const auto almost_flat = [](const profile& p, std::size_t, std::uint64_t seed) {
    return all_figures(.3 * noise_of(seed, 0) + (p.idle.searchers_per_mille == 1000 ? 0 : .003));
  };
  const tuning_result r = tune(bench_engine(), start, fields_of(start), almost_flat, options);
  CHECK_FALSE(r.gained);
  REQUIRE(r.over_start.certain());
  tuning_options assuming = options;
  assuming.assumed = {"Assumed: much."};
  const std::vector<std::string> lines = findings(r, assuming);
  CHECK(lines.front().starts_with("No gain that is worth a change."));
  CHECK(contains(lines.front(), "0.3% less than with the start"));
  CHECK(contains(lines.front(), "That is not luck, but less than 0.5%."));
  CHECK(lines.back() == "Assumed: much.");
  CHECK(contains(tuned_profile_text(r, profile{}, assuming, story()), "# Assumed: much."));
}

TEST_CASE("the gain over the defaults is reported beside the gain over the start") {
  profile start = on_two_packages();
  start.dispatch.weights.score = score_kind::count;
  const tuning_result r = found_from(start);
  REQUIRE(r.gained);
  CHECK(r.over_default.ratio < r.over_start.ratio);
  const std::vector<std::string> lines = findings(r, options);
  CHECK(
      std::ranges::any_of(lines, [](const std::string& l) { return contains(l, "than with the defaults"); }));
}

TEST_CASE("texts from outside cannot leave their comment") {
  const profile start = on_machine("core:8 pu:1");
  const auto same = [](const profile&, std::size_t, std::uint64_t) { return all_figures(0); };
  const tuning_result r = tune(bench_engine(), start, fields_of(start), same, options);
  tuning_story hostile = story();
  hostile.machine = "a\nstrict: true\r\x01\xff";
  hostile.workloads = {std::string(5000, 'w')};
  hostile.command = "corewise\nname: other\x7f";
  const profile read = parse_profile(tuned_profile_text(r, profile{}, options, hostile));
  CHECK_FALSE(read.strict);
  CHECK(read.name == "default");
}

TEST_CASE("throughput is reported as tasks a second, energy together with the response time") {
  const profile start = on_two_packages();
  tuning_options other = options;
  other.goal = tuning_goal::throughput;
  const tuning_result r = tune(bench_engine(), start, fields_of(start), slope, other);
  CHECK(findings(r, other).front().starts_with("Gain: tasks a second: "));
  CHECK(contains(findings(r, other).front(), "% more than with the start"));
  CHECK(contains(findings(r, other).at(1), "p99 of the response time: "));
}
