#include "shown_settings.hpp"

#include <corewise/engine/profile_text.hpp>

#include <doctest/doctest.h>

#include <filesystem>

using namespace corewise;
using namespace corewise::tests;

namespace {

void check_same(const profile& p, const std::string& text) {
  CAPTURE(text);
  CHECK(settings_of(parse_profile(text)) == settings_of(p));
}

} // namespace

TEST_CASE("a profile that is written and read again is the same") {
  for (const auto& entry : std::filesystem::directory_iterator(COREWISE_SOURCE_DIR "/configs")) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path().string());
    const profile p = load_profile(entry.path());
    check_same(p, profile_text(p));
  }
}

TEST_CASE("lists, names and texts with quotes in them are read back") {
  profile p;
  p.name = R"(a "name": with \ and # in it)";
  p.topology.machine.source = synthetic_source{"pack:2 core:4"};
  p.topology.machine.kinds = {{*cpu_set::parse("0-1,4"), "P-core", 1024},
                              {*cpu_set::parse("2-3"), "a.b: \"c\"", {}}};
  p.topology.machine.capacities = {{"P-core", 1000}, {"a.b: \"c\"", 300}};
  p.topology.machine.distances = {{10, 21}, {21, 10}};
  p.topology.machine.use.packages = {0, 1};
  p.topology.machine.use.kinds = {"P-core"};
  p.topology.machine.use.reserve = *cpu_set::parse("0,4");
  p.injection.interval = {61, 61};
  p.queues.lifo_age.reset();
  p.blocking.stuck_after.reset();
  p.blocking.max_concurrent = 8;
  p.blocking.on_full = excess_action::refuse;
  p.debug.stack_signal = 34;
  p.debug.flight_recorder = true;
  p.dispatch.weights.spill.cross_package = 0.1 + 0.2 + 8;
  p.limits.on_full = full_action::wait;
  p.strict = true;
  check_same(p, profile_text(p));
}

TEST_CASE("settings equal to the defaults are left out, unless they have a remark") {
  CHECK(profile_text(profile{}) == "version: 1\n");
  profile p;
  p.idle.searchers_per_mille = 250;
  const auto remark = [](std::string_view key) {
    if (key == "steal.minimum_at.same_node") return "as before";
    return key == "idle.searchers_per_mille" ? "was 500" : "";
  };
  CHECK(profile_text(p, remark) == "version: 1\n"
                                   "\n"
                                   "steal:\n"
                                   "  minimum_at:\n"
                                   "    same_node: 2  # as before\n"
                                   "\n"
                                   "idle:\n"
                                   "  searchers_per_mille: 250  # was 500\n");
}

TEST_CASE("numbers are written without an exponent, as they are read") {
  for (const double number : {0.00001, 1e6, 123456.789, 5e-324}) {
    profile p;
    p.dispatch.weights.spill.same_domain = number;
    const std::string text = profile_text(p);
    CAPTURE(text);
    CHECK(parse_profile(text).dispatch.weights.spill.same_domain == number);
  }
}

TEST_CASE("what could not be read again is refused: controls, bytes that are not UTF-8, lists of thousands "
          "of ranges") {
  for (const char* name : {"a\u009bb", "\uFEFFx", "caf\xe9", "a\u0085b", "two\nlines"}) {
    CAPTURE(name);
    profile p;
    p.name = name;
    CHECK(!check_profile(p).empty());
    profile named;
    named.topology.machine.capacities[name] = 512;
    CHECK(!check_profile(named).empty());
  }
  profile unnamed;
  unnamed.topology.machine.capacities[""] = 512;
  CHECK(!check_profile(unnamed).empty());
  CHECK_THROWS_AS((void)parse_profile("topology: {capacity: {\"P\\n\": 512}}"), profile_error);
  CHECK_THROWS_AS((void)parse_profile("name: \"a\\x9bb\""), profile_error);
  CHECK_THROWS_AS((void)parse_profile("topology: {use: {cpus: \"0-2046:1/2\"}}"), profile_error);
  CHECK(parse_profile("topology: {use: {cpus: \"0-1000:1/2\"}}").topology.machine.use.cpus->size() == 501);
}
