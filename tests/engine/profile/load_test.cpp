#include "../../topology/temporary_tree.hpp"
#include "error_lines.hpp"
#include "quotation.hpp"
#include "shown_settings.hpp"
#include "text_file.hpp"

#include <doctest/doctest.h>

#include <csignal>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

TEST_CASE("an empty profile has all defaults") {
  const auto defaults = settings_of(profile{});
  for (const char* empty : {"", "\n\n", "# only a comment\n", "---\n", "{}\n", "~\n", "\xEF\xBB\xBF"}) {
    CAPTURE(empty);
    CHECK(settings_of(parse_profile(empty)) == defaults);
  }
}

TEST_CASE("every field reaches its member") {
  const profile p = parse_profile(R"(
version: 1
name: all of it
topology:
  source: {synthetic: "pack:2 core:4 pu:2"}
  use: {packages: [0, 1], numa: [2], kinds: [P], cpus: "0-63", reserve: "0,32"}
  group_by: package
  group_max: 0
  smt: all
  capacity: {P: 1024, E: 620}
  kinds:
    - {cpus: "0-7,16", name: P, capacity: 1024}
    - {cpus: 8, name: E}
  distances: [[10, 21], [22, 10]]
workers: {per_group: 3, pin: node, memory: anywhere}
dispatch:
  policy: nearest_lightest
  score: drain_time
  spill: {same_domain: 0.5, same_node: 1, same_package: 2, cross_package: 40}
steal: {policy: none, start: random, batch_max: 7, minimum_at: {same_node: 5, same_package: 6, cross_package: 7}}
queues: {discipline: volt, local: 64, overflow: half, lifo_cap: 0, lifo_age: never, budget: 9, inbox: unbounded, oldest_first: 3ms}
injection: {scope: engine, target_latency: 2ms, interval: {fixed: 61}, batch: {min: 2, max: 3}}
idle: {searchers_per_mille: 1, spin: 0us, wake: lowest, park_timeout: 10ms}
blocking: {spares_max: 0, keep_alive: 1min, stuck_after: never, max_concurrent: 7, on_full: throw}
limits: {in_flight: 1000000000000, on_full: wait}
debug: {stack_signal: SIGPROF, flight_recorder: true}
on_exception: report
strict: true
)");
  CHECK(p.name == "all of it");
  REQUIRE(std::holds_alternative<synthetic_source>(p.topology.machine.source));
  CHECK(std::get<synthetic_source>(p.topology.machine.source).text == "pack:2 core:4 pu:2");
  const auto& use = p.topology.machine.use;
  CHECK(use.packages == std::vector<std::uint32_t>{0, 1});
  CHECK(use.nodes == std::vector<std::uint32_t>{2});
  CHECK(use.kinds == std::vector<std::string>{"P"});
  CHECK(use.cpus == cpu_set::range(0, 63));
  CHECK(use.reserve.to_string() == "0,32");
  CHECK(p.topology.groups.group_by == domain_kind::package);
  CHECK(p.topology.groups.group_max == 0);
  CHECK(p.topology.smt == smt_use::all);
  CHECK(p.topology.machine.capacities == std::map<std::string, std::uint32_t>{{"E", 620}, {"P", 1024}});
  REQUIRE(p.topology.machine.kinds.size() == 2);
  CHECK(p.topology.machine.kinds[0].cpus.to_string() == "0-7,16");
  CHECK(p.topology.machine.kinds[0].capacity == 1024);
  CHECK(p.topology.machine.kinds[1].name == "E");
  CHECK(p.topology.machine.kinds[1].capacity == std::nullopt);
  CHECK(p.topology.machine.distances == std::vector<std::vector<std::uint32_t>>{{10, 21}, {22, 10}});
  CHECK(p.workers.per_group == 3);
  CHECK(p.workers.pin == pin_to::node);
  CHECK(p.workers.memory == memory_on::anywhere);
  CHECK(p.dispatch.weights.score == score_kind::drain_time);
  CHECK(p.dispatch.weights.spill.same_domain == 0.5);
  CHECK(p.dispatch.weights.spill.same_node == 1);
  CHECK(p.dispatch.weights.spill.same_package == 2);
  CHECK(p.dispatch.weights.spill.cross_package == 40);
  CHECK(p.steal.policy == "none");
  CHECK(p.steal.start == steal_start::random);
  CHECK(p.steal.batch_max == 7);
  CHECK(p.steal.minimum_at.same_node == 5);
  CHECK(p.steal.minimum_at.same_package == 6);
  CHECK(p.steal.minimum_at.cross_package == 7);
  CHECK(p.queues.local == 64);
  CHECK(p.queues.lifo_cap == 0);
  CHECK(p.queues.discipline == discipline::volt);
  CHECK(p.queues.lifo_age == std::nullopt);
  CHECK(p.queues.budget == 9);
  CHECK(p.queues.inbox == std::nullopt);
  CHECK(p.queues.oldest_first == 3ms);
  CHECK(p.injection.scope == injection_scope::engine);
  CHECK(p.injection.target_latency == 2ms);
  CHECK(p.injection.interval.min == 61);
  CHECK(p.injection.interval.max == 61);
  CHECK(p.injection.batch.min == 2);
  CHECK(p.injection.batch.max == 3);
  CHECK(p.idle.searchers_per_mille == 1);
  CHECK(p.idle.spin == 0us);
  CHECK(p.idle.wake == wake_order::lowest);
  CHECK(p.idle.park_timeout.kind == park_timeout_setting::mode::fixed);
  CHECK(p.idle.park_timeout.fixed == 10ms);
  CHECK(p.blocking.spares_max == 0);
  CHECK(p.blocking.keep_alive == 1min);
  CHECK(p.blocking.stuck_after == std::nullopt);
  CHECK(p.blocking.max_concurrent == 7);
  CHECK(p.blocking.on_full == excess_action::refuse);
  CHECK(p.debug.stack_signal == SIGPROF);
  CHECK(p.debug.flight_recorder);
  CHECK(p.limits.in_flight == 1'000'000'000'000);
  CHECK(p.limits.on_full == full_action::wait);
  CHECK(p.on_exception == exception_action::report);
  CHECK(p.strict);
}

TEST_CASE("words in place of a number or a duration are read") {
  const profile p = parse_profile("workers: {per_group: auto}\nqueues: {lifo_age: 70us, inbox: 64}\n"
                                  "idle: {park_timeout: never}\nblocking: {stuck_after: 1s}\n"
                                  "topology: {source: live, capacity: auto}\n");
  CHECK(p.workers.per_group == std::nullopt);
  CHECK(p.queues.lifo_age == 70us);
  CHECK(p.queues.inbox == 64);
  CHECK(p.idle.park_timeout.kind == park_timeout_setting::mode::never);
  CHECK(p.blocking.stuck_after == 1s);
  CHECK(p.debug.stack_signal == std::nullopt);
  CHECK(parse_profile("debug: {stack_signal: none}").debug.stack_signal == std::nullopt);
  CHECK(parse_profile("debug: {stack_signal: 40}").debug.stack_signal == 40);
  CHECK_THROWS_AS(parse_profile("debug: {stack_signal: SIGKILL}"), profile_error);
  CHECK_THROWS_AS(parse_profile("debug: {stack_signal: 9}"), profile_error);
  CHECK(std::holds_alternative<live_source>(p.topology.machine.source));
  CHECK(parse_profile("idle: {park_timeout: adaptive}").idle.park_timeout.kind ==
        park_timeout_setting::mode::adaptive);
}

TEST_CASE("a file that cannot be read is named with the reason") {
  const temporary_tree tree;
  const std::string missing = (tree.root() / "missing.yaml").string();
  CHECK(error_lines([&] { (void)load_profile(missing); }) ==
        line_list{missing + ": cannot be read: No such file or directory"});
  CHECK(error_lines([&] { (void)load_profile(tree.root()); }) ==
        line_list{tree.root().string() + ": cannot be read: Is a directory"});
}

TEST_CASE("errors in a file carry its name") {
  const temporary_tree tree;
  const auto file = tree.write("a.yaml", "strict: 3\n");
  CHECK(error_lines([&] { (void)load_profile(file); }) ==
        line_list{file.string() + ":1:9: strict: found \"3\"; expected true or false"});
}

TEST_CASE("relative paths in a profile begin at its folder, and must lead to a file") {
  const temporary_tree tree;
  tree.write("machines/m.xml", "<topology/>");
  const auto right = tree.write("right.yaml", "topology: {source: {xml: machines/m.xml}}\n");
  CHECK(std::get<xml_source>(load_profile(right).topology.machine.source).file ==
        tree.root() / "machines/m.xml");
  CHECK(load_profile(right).source == right.string());
  const auto wrong = tree.write("wrong.yaml", "topology:\n  source: {xml: n.xml}\n");
  CHECK(error_lines([&] { (void)load_profile(wrong); }) ==
        line_list{wrong.string() + ":2:17: topology.source.xml: found \"" +
                  detail::printable((tree.root() / "n.xml").string()) +
                  "\", which cannot be read: No such file or directory; name a file of hwloc's XML"});
}

TEST_CASE("a file of the largest size loads, and one byte more is refused") {
  const temporary_tree tree;
  std::string text = "strict: true\n#";
  text.resize(detail::text_bytes_max, 'x');
  CHECK(load_profile(tree.write("full.yaml", text)).strict);
  const auto over = tree.write("over.yaml", text + 'x');
  CHECK(error_lines([&] { (void)load_profile(over); }) ==
        line_list{over.string() + ":1:1: found more than 128 KiB; a profile has a few KiB, 128 KiB at most"});
}
