#include "document.hpp"
#include "error_lines.hpp"
#include "read_fields.hpp"
#include "schema_check.hpp"
#include "shown_settings.hpp"
#include "text_file.hpp"
#include "yaml_as_json.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <set>

using namespace corewise;
using namespace corewise::tests;

namespace {

const std::filesystem::path folder = COREWISE_SOURCE_DIR "/configs";

std::set<std::string> config_names() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".yaml") names.insert(entry.path().stem().string());
  return names;
}

} // namespace

TEST_CASE("there is a profile for each purpose and each system, and each loads under its own name") {
  const std::set<std::string> names = config_names();
  for (const char* name :
       {"default", "latency", "throughput", "hybrid", "socket-pinned", "container", "zio", "zio-least-loaded",
        "nio", "volt", "tokio", "activity", "global-queue", "local-only"})
    CHECK_MESSAGE(names.contains(name), name);
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK(error_lines([&] { CHECK(load_profile(folder / (name + ".yaml")).name == name); }) == line_list{});
  }
}

TEST_CASE("each profile of configs differs from the defaults, except the default one") {
  for (const std::string& name : config_names()) {
    CAPTURE(name);
    auto settings = settings_of(load_profile(folder / (name + ".yaml")));
    settings["name"] = "default";
    CHECK((settings == settings_of(profile{})) == (name == "default"));
  }
}

TEST_CASE("default.yaml has every default, and nothing else") {
  const std::string text = detail::read_text_file(folder / "default.yaml");
  detail::issue_list issues("default.yaml");
  profile p;
  const auto written = detail::read_fields(text, detail::profile_fields(), p, issues);
  REQUIRE(issues.empty());
  CHECK(settings_of(p) == settings_of(profile{}));
  for (const auto& [key, value] : settings_of(profile{})) CHECK_MESSAGE(written.contains(key), key);
}

TEST_CASE("each profile of configs satisfies the schema") {
  const auto schema = nlohmann::ordered_json::parse(profile_schema());
  for (const std::string& name : config_names()) {
    CAPTURE(name);
    CHECK(violation(schema, yaml_as_json(detail::read_text_file(folder / (name + ".yaml")))) == "");
  }
}
