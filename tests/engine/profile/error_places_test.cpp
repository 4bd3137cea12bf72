#include "error_lines.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE("an error about a wrong type names place, key, the value found and the values expected") {
  CHECK(error_in("steal:\n  batch_max: [1, 2]\n") ==
        "f:2:14: steal.batch_max: found a list; expected a whole number from 1 to 65536");
  CHECK(error_in("steal: {batch_max: {a: 1}}\n") ==
        "f:1:20: steal.batch_max: found a map; expected a whole number from 1 to 65536");
  CHECK(error_in("steal: nearest_half\n") ==
        "f:1:8: steal: found \"nearest_half\"; expected a map with policy, start, batch_max, minimum_at");
  CHECK(error_in("steal: [nearest_half]\n") ==
        "f:1:8: steal: found a list; expected a map with policy, start, batch_max, minimum_at");
  CHECK(error_in("topology: {use: {packages: 0}}\n") ==
        "f:1:28: topology.use.packages: found \"0\"; expected a list, each item a whole number from 0 to "
        "65535");
  CHECK(error_in("topology: {use: {packages: [0, [1]]}}\n") ==
        "f:1:32: topology.use.packages[1]: found a list; expected a whole number from 0 to 65535");
  CHECK(error_in("- version: 1\n").starts_with("f:1:1: found a list; expected a map with version, name, "));
  CHECK(error_in("just words\n")
            .starts_with("f:1:1: found \"just words\"; expected a map with version, name, "));
}

TEST_CASE("a missing value is reported at its key, not at the next one") {
  CHECK(error_in("steal:\n  batch_max:\n\n  policy: none\n") ==
        "f:2:3: steal.batch_max: found nothing; expected a whole number from 1 to 65536");
  CHECK(error_in("steal:\n  batch_max: ~\n") ==
        "f:2:3: steal.batch_max: found nothing; expected a whole number from 1 to 65536");
}

TEST_CASE("a section whose lines are all commented out is empty") {
  CHECK(error_in("steal:\n  # batch_max: 3\nidle:\n") == "");
}

TEST_CASE("numbers are plain decimal numbers") {
  const std::string right = "expected a whole number from 1 to 65536";
  for (const char* wrong :
       {"1e3", "0x10", "-3", "+3", "1.5", "1_000", "007", "yes", "18446744073709551616", "99999"}) {
    CAPTURE(wrong);
    CHECK(error_in("steal: {batch_max: " + std::string(wrong) + "}") ==
          "f:1:20: steal.batch_max: found \"" + std::string(wrong) + "\"; " + right);
  }
  CHECK(error_in("steal: {batch_max: \"12\"}") ==
        "f:1:20: steal.batch_max: found the text \"12\"; " + right + "; leave the quotes out");
  CHECK(error_in("steal: {batch_max: 0}") == "f:1:20: steal.batch_max: found \"0\"; " + right);
  CHECK(error_in("steal: {batch_max: 1}") == "");
  CHECK(error_in("steal: {batch_max: 65536}") == "");
}

TEST_CASE("durations need their unit") {
  CHECK(error_in("idle: {spin: 20}") ==
        "f:1:14: idle.spin: found \"20\"; expected a duration with its unit from 0us to "
        "100ms; write the unit, such as 20ns, 20us or 20ms");
  CHECK(error_in("idle: {spin: 20 us}") ==
        "f:1:14: idle.spin: found \"20 us\"; expected a duration with its unit from 0us to 100ms");
  CHECK(error_in("idle: {spin: 2h}") ==
        "f:1:14: idle.spin: found \"2h\"; expected a duration with its unit from 0us to 100ms");
  CHECK(error_in("queues: {lifo_age: nevr}") ==
        "f:1:20: queues.lifo_age: found \"nevr\"; expected never or a duration "
        "with its unit from 1us to 1s; did you mean \"never\"?");
}

TEST_CASE("an error about a wrong word names the nearest right one") {
  CHECK(error_in("dispatch: {score: expected-delay}") ==
        "f:1:19: dispatch.score: found \"expected-delay\"; expected expected_delay, drain_time or count; "
        "did you mean \"expected_delay\"?");
  CHECK(error_in("strict: yes") == "f:1:9: strict: found \"yes\"; expected true or false");
  CHECK(error_in("strict: \"true\"") ==
        "f:1:9: strict: found the text \"true\"; expected true or false; leave the quotes out");
  CHECK(error_in("dispatch: {policy: nearest_lightst}").ends_with("; did you mean \"nearest_lightest\"?"));
}

TEST_CASE("an unknown version is refused") {
  CHECK(error_in("version: 2\n") == "f:1:10: version: found \"2\"; expected 1");
}

TEST_CASE("an error about an unknown key names the nearest known one") {
  CHECK(error_in("dispatch:\n  spil: {}\n") == "f:2:3: dispatch.spil: found an unknown key; did you mean "
                                               "\"spill\"? the keys here are policy, score, spill");
  CHECK(error_in("steal:\n  minimum_at: {same_nod: 3}\n") ==
        "f:2:16: steal.minimum_at.same_nod: found an unknown key; did you mean \"same_node\"? the keys here "
        "are "
        "same_node, same_package, cross_package");
  CHECK(error_in("spin: 3us\n")
            .starts_with("f:1:1: spin: found an unknown key; \"spin\" belongs in idle.spin; "));
  CHECK(error_in("kinds: [{name: P}]\n")
            .starts_with("f:1:1: kinds: found an unknown key; \"kinds\" belongs in topology.kinds; "));
  CHECK(error_in("dispatch: {zzzzzzzz: 1}\n") == "f:1:12: dispatch.zzzzzzzz: found an unknown key; the "
                                                 "nearest is \"policy\"; the keys here are policy, score, "
                                                 "spill");
}

TEST_CASE("a repeated key is an error that names the first one") {
  CHECK(error_in("name: a\nstrict: true\nname: b\n") ==
        "f:3:1: name: found this key a second time; it is already in line 1");
  CHECK(error_in("idle:\n  spin: 1us\n  spin: 2us\n") ==
        "f:3:3: idle.spin: found this key a second time; it is already in line 2");
  CHECK(error_in("\"name\": a\nname: b\n") ==
        "f:2:1: name: found this key a second time; it is already in line 1");
}

TEST_CASE("anchors, aliases, tags and strange keys are refused at their place") {
  CHECK(error_in("name: &x a\n") ==
        "f:1:7: name: found an anchor; anchors are not allowed, write the value without it");
  CHECK(errors_in("name: &x a\nstrict: *x\n") ==
        line_list{"f:1:7: name: found an anchor; anchors are not allowed, write the value without it",
                  "f:2:9: strict: found an alias; aliases are not allowed, write the value itself"});
  CHECK(errors_in("topology: {use: {packages: [*x, y]}}\n").size() == 1); // unknown; the parser ends there
  CHECK(error_in("name: !!str a\n") ==
        "f:1:7: name: found the tag \"tag:yaml.org,2002:str\"; write the value without it");
  CHECK(error_in("? [a, b]\n: 1\n") == "f:1:3: found a list as a key; keys are names");
  CHECK(error_in("? {a: b}\n: 1\n") == "f:1:3: found a map as a key; keys are names");
  CHECK(error_in("\"\": 1\n") == "f:1:1: found nothing as a key; keys are names");
  CHECK(error_in("~: 1\n") == "f:1:1: found nothing as a key; keys are names");
}

TEST_CASE("a refused item does not change the indices of the items after it") {
  CHECK(
      errors_in("name: &x a\ntopology: {use: {packages: [*x, y]}}\n") ==
      line_list{
          "f:1:7: name: found an anchor; anchors are not allowed, write the value without it",
          "f:2:29: topology.use.packages[0]: found an alias; aliases are not allowed, write the value itself",
          "f:2:33: topology.use.packages[1]: found \"y\"; expected a whole number from 0 to 65535"});
}

TEST_CASE("errors in YAML are explained") {
  CHECK(error_in("steal: {policy: none\n") ==
        "f:2:1: found text that is not YAML (end of map flow not found); "
        "close \"{\" with \"}\" and put commas between its "
        "entries");
  CHECK(error_in("steal:\n  policy: none\n start: nearest\n")
            .starts_with("f:3:2: found text that is not YAML ("));
  CHECK(error_in("name: a\nname2: b: c\n").starts_with("f:2:9: found text that is not YAML ("));
  CHECK(error_in("name: \"a\n") ==
        "f:1:7: name: found a quote that is not closed; close the text with the quote that opens it");
  CHECK(error_in("name: 'it''s\n") ==
        "f:1:7: name: found a quote that is not closed; close the text with the quote that opens it");
  CHECK(error_in("name: 'it''s'\n") == "");
  CHECK(error_in("name: \"say \\\"a\\\"\"\n") == "");
}

TEST_CASE("a file holds one document") {
  CHECK(error_in("name: a\n---\nname: b\n") ==
        "f:2:1: found more text after the end of the document; a file holds one document");
  CHECK(error_in("--- \nname: a\n...\n") == "");
}

TEST_CASE("tabs do not indent") {
  CHECK(errors_in("idle:\n\tspin: 1us\n  \twake: nearest\n") ==
        line_list{"f:2:1: found a tab in the indentation; indent with spaces",
                  "f:3:3: found a tab in the indentation; indent with spaces"});
  CHECK(error_in("name: a\t# a tab before a comment\n\t\n\t# and one before another\nstrict:\ttrue\n") == "");
  CHECK(error_in("idle:\n\t\n  wake: nearest\n \t # within a map\n  spin: 1us\n\t\t\nstrict: true\n\t") ==
        "");
  CHECK(error_in("idle: {wake: nearest,\n\t\n spin: 1us}\nsteal:\n\t\r\n  start: 3\n")
            .starts_with("f:6:10: steal.start: "));
}

TEST_CASE("columns count characters, not bytes, and line ends may be those of Windows") {
  CHECK(error_in("topology: {capacity: {\"größe\": 0}}\r\nstrict: 3\r\n") ==
        "f:1:32: topology.capacity.größe: found \"0\"; expected a whole number from 1 to 1024\n"
        "f:2:9: strict: found \"3\"; expected true or false");
  CHECK(error_in("\xEF\xBB\xBFstrict: 3\n") == "f:1:9: strict: found \"3\"; expected true or false");
}

TEST_CASE("all errors are reported together, in the order of their places") {
  const line_list lines = errors_in("strict: maybe\n"
                                    "steal: {start: 3, batch_max: no}\n"
                                    "unknown: 1\n"
                                    "injection:\n"
                                    "  interval: {min: 9, max: 3}\n"
                                    "name: x\n"
                                    "name: y\n"
                                    "idle: {spin: 1d}\n");
  const line_list places{"f:1:9: strict:",
                         "f:2:16: steal.start:",
                         "f:2:30: steal.batch_max:",
                         "f:3:1: unknown:",
                         "f:5:19: injection.interval.min:",
                         "f:7:1: name:",
                         "f:8:14: idle.spin:"};
  REQUIRE(lines.size() == places.size());
  for (std::size_t i = 0; i < lines.size(); ++i) CHECK_MESSAGE(lines[i].starts_with(places[i]), lines[i]);
}

TEST_CASE("what() has a line for each error") {
  try {
    (void)parse_profile("strict: 1\nname: []\n", "g.yaml");
    FAIL("it should not load");
  } catch (const profile_error& error) {
    CHECK(std::string(error.what()) ==
          "g.yaml:1:9: strict: found \"1\"; expected true or false\n"
          "g.yaml:2:7: name: found an empty list; expected a text of 1 to 64 bytes in one line");
    REQUIRE(error.issues().size() == 2);
    CHECK(error.issues()[1].line == 2);
    CHECK(error.issues()[1].column == 7);
    CHECK(error.issues()[1].key == "name");
  }
}

TEST_CASE("strange text from the file cannot break the lines of messages") {
  for (const std::string& line : errors_in("\"a\\nb\\e[31m\": 1\nstrict: \"x\\ny\"\nname: \"a\\nb\"\n")) {
    CHECK_MESSAGE(std::ranges::none_of(line, [](char c) { return static_cast<unsigned char>(c) < 0x20; }),
                  line);
  }
  const std::string line = error_in("strict: " + std::string(300, 'x'));
  CHECK(line == "f:1:9: strict: found \"" + std::string(60, 'x') + "...\"; expected true or false");
}

TEST_CASE("two forms of one setting exclude each other") {
  CHECK(
      error_in("injection:\n  interval: {min: 3, fixed: 5}\n") ==
      "f:2:22: injection.interval.fixed: found both min and fixed; expected a map with min or max or fixed");
  CHECK(
      error_in("topology:\n  source: {xml: a, synthetic: b}\n") ==
      "f:2:20: topology.source.synthetic: found both xml and synthetic; expected live, or a map with xml or "
      "synthetic");
  CHECK(error_in("topology: {source: {}}\n") ==
        "f:1:20: topology.source: found an empty map; expected live, or a map with xml or synthetic");
  CHECK(error_in("topology: {source: sythetic}\n")
            .starts_with("f:1:20: topology.source: found \"sythetic\"; "));
}

TEST_CASE("kinds that are described by hand need CPUs and a name") {
  CHECK(errors_in("topology:\n  kinds:\n    - {name: P}\n    - {cpus: 0-3}\n") ==
        line_list{
            "f:3:7: topology.kinds[0].cpus: found nothing; expected a list of CPUs such as \"0-3,8\", of "
            "4096 bytes at most as ranges",
            "f:4:7: topology.kinds[1].name: found nothing; expected a text of 1 to 32 bytes in one line"});
}
