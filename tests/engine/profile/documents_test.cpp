#include "error_lines.hpp"
#include "profile_fields.hpp"
#include "schema_check.hpp"
#include "text_file.hpp"
#include "yaml_as_json.hpp"

#include <corewise/engine/metrics.hpp>

#include <doctest/doctest.h>

#include <filesystem>

using namespace corewise;
using namespace corewise::tests;

namespace {

const std::filesystem::path source = COREWISE_SOURCE_DIR;

std::string schema_violation(const std::string& yaml) {
  static const auto schema = nlohmann::ordered_json::parse(profile_schema());
  return violation(schema, yaml_as_json(yaml));
}

} // namespace

TEST_CASE("the schema and the reference pages agree with the tables, or tests/generated/update must run") {
  // The parentheses keep a failure from printing both pages.
  CHECK((detail::read_text_file(source / "configs/profile.schema.json") == profile_schema()));
  CHECK((detail::read_text_file(source / "docs/profile.md") == profile_reference()));
  CHECK((detail::read_text_file(source / "docs/metrics.md") == metrics_reference()));
}

TEST_CASE("the reference page has a row for each field") {
  const std::string page = profile_reference();
  for (const auto& field : detail::profile_fields())
    CHECK_MESSAGE(page.find("\n| `" + field.facts.path + "` | ") != std::string::npos, field.facts.path);
}

TEST_CASE("the schema accepts each profile that the loader accepts") {
  for (const char* right :
       {"", "{}", "idle:\n", "strict: true", "workers: {per_group: auto}", "workers: {per_group: 4}",
        "topology: {source: {xml: a.xml}}", "topology: {source: live, capacity: {P: 1024}}",
        "topology: {kinds: [{cpus: 0-3, name: P}]}", "topology: {distances: [[10, 20], [20, 10]]}",
        "topology: {use: {cpus: 5, packages: [0]}}", "queues: {lifo_age: never, local: 64}",
        "queues: {inbox: unbounded, discipline: tokio}\nsteal: {policy: none}",
        "injection: {interval: {fixed: 61}}", "injection: {interval: {min: 3}}", "idle: {park_timeout: 10ms}",
        "dispatch: {spill: {same_domain: 0.5}}", "name: 2024"}) {
    CAPTURE(right);
    CHECK(errors_in(right) == line_list{});
    CHECK(schema_violation(right) == "");
  }
}

TEST_CASE("the schema refuses each profile that the loader refuses, as far as a schema can") {
  for (const char* wrong : {"version: 2",
                            "unknown: 1",
                            "steal: {batch_max: 0}",
                            "steal: {batch_max: 65537}",
                            "steal: {batch_max: \"3\"}",
                            "steal: {batch_max: 1.5}",
                            "steal: {start: sideways}",
                            "steal: []",
                            "queues: {local: 100}",
                            "idle: {spin: 20}",
                            "idle: {spin: 20 us}",
                            "strict: yes",
                            "topology: {kinds: [{name: P}]}",
                            "topology: {source: {}}",
                            "topology: {source: {xml: a, synthetic: b}}",
                            "topology: {capacity: {P: 2000}}",
                            "injection: {interval: {min: 3, fixed: 5}}",
                            "topology: {use: {cpus: a-b}}",
                            "name: []",
                            "- a",
                            "dispatch: {spill: {same_domain: -1}}",
                            "queues: {inbox: endless}",
                            "topology: {distances: [[5]]}"}) {
    CAPTURE(wrong);
    CHECK_FALSE(errors_in(wrong).empty());
    CHECK(schema_violation(wrong) != "");
  }
}
