#include "error_lines.hpp"

#include <doctest/doctest.h>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE("the cost of spilling to another package must be high enough that thieves do not steal the task "
          "straight back") {
  CHECK(error_in("dispatch: {spill: {cross_package: 7}}") ==
        "f:1:35: dispatch.spill.cross_package: found spill.cross_package 7 and "
        "steal.minimum_at.cross_package 4; spill "
        "must be at least 2 × the minimum, or thieves steal a spilled task straight back");
  CHECK(error_in("dispatch: {spill: {cross_package: 8}}") == "");
  CHECK(error_in("dispatch: {spill: {cross_package: 7}}\nsteal: {policy: none}") == "");
}

TEST_CASE("a contradiction with a default is reported at the field in the file") {
  CHECK(error_in("steal: {minimum_at: {cross_package: 9}}")
            .starts_with("f:1:37: steal.minimum_at.cross_package: found spill.cross_package 16 and "));
}

TEST_CASE("a contradiction is not reported about a field that is wrong by itself") {
  CHECK(errors_in("dispatch: {spill: {cross_package: -1}}\nsteal: {minimum_at: {cross_package: 9}}").size() ==
        1);
}

TEST_CASE("a least number must not be above the greatest") {
  CHECK(error_in("injection: {interval: {min: 256}}") ==
        "f:1:29: injection.interval.min: found min 256 above max 255; min must not be above max");
  CHECK(error_in("injection: {batch: {max: 3}}") ==
        "f:1:26: injection.batch.max: found min 4 above max 3; min must not be above max");
  CHECK(error_in("injection: {interval: {min: 9, max: 9}}") == "");
}

TEST_CASE("a CPU is in one kind, and each kind has a name of its own") {
  CHECK(error_in("topology:\n  kinds:\n    - {cpus: 0-7, name: P}\n    - {cpus: 6-9, name: E}\n") ==
        "f:4:14: topology.kinds[1].cpus: found 6-7 in another kind as well; a CPU belongs to one kind");
  CHECK(error_in("topology:\n  kinds:\n    - {cpus: 0-7, name: P}\n    - {cpus: 8-9, name: P}\n") ==
        "f:4:25: topology.kinds[1].name: found \"P\" a second time; each kind has a name of its own");
  CHECK(error_in("topology: {kinds: [{cpus: \"\", name: P}]}") ==
        "f:1:27: topology.kinds[0].cpus: found no CPU; name at least one");
}

TEST_CASE("names of kinds must be described, if the file describes kinds") {
  const std::string kinds = "topology:\n  kinds: [{cpus: 0-7, name: big}, {cpus: 8-9, name: LITTLE}]\n";
  CHECK(error_in(kinds + "  capacity: {LITLE: 400}\n") ==
        "f:3:21: topology.capacity.LITLE: found \"LITLE\"; expected a kind that topology.kinds describes "
        "(big, LITTLE); "
        "did you mean \"LITTLE\"?");
  CHECK(error_in(kinds + "  use: {kinds: [bg]}\n")
            .starts_with("f:3:17: topology.use.kinds[0]: found \"bg\"; "));
  CHECK(error_in(kinds + "  use: {kinds: [big]}\n") == "");
  CHECK(error_in("topology: {capacity: {any: 400}}\n") == "");
}

TEST_CASE("distances are a square with 10 from each node to itself") {
  CHECK(
      error_in("topology:\n  distances:\n    - [10, 20]\n    - [20]\n") ==
      "f:4:7: topology.distances[1]: found 1 distances in one of 2 rows; a row has a distance to each node");
  CHECK(error_in("topology:\n  distances:\n    - [10, 20]\n    - [20, 11]\n") ==
        "f:4:12: topology.distances[1][1]: found 11 from a node to itself; that distance is always 10");
  CHECK(error_in("topology:\n  distances:\n    - [10, 20]\n    - [20, 10]\n") == "");
}

TEST_CASE("at least one CPU must be left to use") {
  CHECK(error_in("topology: {use: {cpus: \"\"}}") ==
        "f:1:24: topology.use.cpus: found no CPU; name at least one, or leave the key out to use all");
  CHECK(error_in("topology: {use: {cpus: 0-3, reserve: 0-7}}") ==
        "f:1:38: topology.use.reserve: found 0-7 reserved of the CPUs 0-3; leave at least one to use");
  CHECK(error_in("topology: {use: {cpus: 0-3, reserve: \"0\"}}") == "");
}

TEST_CASE("the same rules hold for profiles that are made in code") {
  profile p;
  p.injection.batch = {9, 3};
  p.topology.machine.distances = {{10, 20}, {}};
  const auto issues = check_profile(p);
  REQUIRE(issues.size() == 2);
  CHECK(issues[0].to_string() ==
        "topology.distances[1]: found 0 distances in one of 2 rows; a row has a distance to each node");
  CHECK(issues[1].to_string() == "injection.batch.min: found min 9 above max 3; min must not be above max");
}

TEST_CASE("an unbounded inbox excludes stealing") {
  CHECK(error_in("queues: {inbox: unbounded}") ==
        "f:1:17: queues.inbox: found an unbounded inbox and steal.policy nearest_half; thieves cannot take "
        "from "
        "an unbounded inbox: name a size, or set steal.policy to none");
  CHECK(error_in("queues: {inbox: unbounded}\nsteal: {policy: none}") == "");
}

TEST_CASE("without injection queues inboxes must be unbounded") {
  CHECK(error_in("injection: {scope: none}\nsteal: {policy: none}") ==
        "f:1:20: injection.scope: found injection.scope none and an inbox of 1024; without an injection "
        "queue there is no room for a task that finds an inbox full: set queues.inbox to unbounded");
  CHECK(error_in("injection: {scope: none}\nsteal: {policy: none}\nqueues: {inbox: unbounded}") == "");
}

TEST_CASE("an empty entry of a list is refused, not left out") {
  for (const char* yaml :
       {"topology: {distances: [[10, 20], [20, 10], []]}", "topology: {distances: [[]]}",
        "topology: {kinds: [null]}", "topology:\n  kinds:\n  - {cpus: 0, name: P}\n  -\n"}) {
    CAPTURE(yaml);
    CHECK_THROWS_AS((void)parse_profile(yaml), profile_error);
  }
}
