#include "error_lines.hpp"
#include "profile_fields.hpp"
#include "shown_settings.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/policies/policy.hpp>
#include <corewise/policies/steal_policy.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;
using detail::value_rule;
using sort = detail::value_rule::sort;

namespace {

/// Returns the field at `path` with this value, in YAML's flow style: "a.b[].c" and "1" make "{a: {b: [{c:
/// 1}]}}".
std::string document(std::string_view path, const std::string& value) {
  if (path.empty()) return value;
  if (path.starts_with("[]"))
    return '[' + document(path.substr(path.starts_with("[].") ? 3 : 2), value) + ']';
  const std::size_t end = std::min(path.find('.'), path.find('['));
  const std::string key = path.substr(0, end) == "*" ? "P" : std::string(path.substr(0, end));
  const std::string_view rest =
      end == std::string_view::npos ? "" : path.substr(path[end] == '.' ? end + 1 : end);
  return '{' + key + ": " + document(rest, value) + '}';
}

/// Returns values just outside of each bound, and values of other types.
std::vector<std::string> wrong_values(const value_rule& rule) {
  std::vector<std::string> wrong{"[[]]", "{no_such_key: 1}"};
  switch (rule.what) {
  case sort::word: wrong.insert(wrong.end(), {"no_such_word", "12"}); break;
  case sort::flag: wrong.insert(wrong.end(), {"yes", "1", "True", "\"true\""}); break;
  case sort::integer:
  case sort::number:
    wrong.insert(wrong.end(), {fmt::format("{}", rule.max + 1), "-1", "1e1", "0x1", "many"});
    if (rule.min > 0) wrong.push_back(fmt::format("{}", rule.min - 1));
    if (rule.power_of_two) wrong.push_back(fmt::format("{}", rule.min * 3));
    break;
  case sort::duration:
    wrong.insert(wrong.end(), {fmt::format("{}ns", rule.max + 1), "-1us", "5", "soon"});
    if (rule.min > 0) wrong.push_back(fmt::format("{}ns", rule.min - 1));
    break;
  case sort::text: wrong.insert(wrong.end(), {"\"\"", "\"a\\nb\"", std::string(rule.max + 1, 'x')}); break;
  case sort::cpu_list: wrong.insert(wrong.end(), {"3-1", "x", "65536", "\"1;2\""}); break;
  }
  return wrong;
}

std::vector<std::string> right_values(const value_rule& rule) {
  std::vector<std::string> right = rule.words;
  switch (rule.what) {
  case sort::word:
  case sort::flag: break;
  case sort::integer:
  case sort::number:
    right.insert(right.end(), {fmt::format("{}", rule.min), fmt::format("{}", rule.max)});
    break;
  case sort::duration:
    right.insert(right.end(), {fmt::format("{}ns", rule.min), fmt::format("{}ns", rule.max)});
    break;
  case sort::text: right.insert(right.end(), {"x", std::string(rule.max, 'x')}); break;
  case sort::cpu_list: right.insert(right.end(), {"0", "\"0-3,8\""}); break;
  }
  return right;
}

bool mentions(const line_list& lines, const std::string& key) {
  for (const std::string& line : lines)
    if (line.find(": " + key + ": ") != std::string::npos ||
        line.find(": " + key + '.') != std::string::npos || line.find(": " + key + '[') != std::string::npos)
      return true;
  return false;
}

} // namespace

TEST_CASE("every field refuses values outside of its range and of other types") {
  for (const auto& field : detail::profile_fields()) {
    const std::string key = detail::key_path(field.facts.path, {{0, 0}, {"P"}});
    for (const std::string& value : wrong_values(field.facts.rule)) {
      CAPTURE(field.facts.path);
      CAPTURE(value);
      if (field.facts.path == "topology.capacity" && value == "{no_such_key: 1}")
        continue; // a profile may name any kind
      const line_list lines = errors_in(document(field.facts.path, value));
      CHECK(mentions(lines, key));
    }
  }
}

TEST_CASE("every field accepts its words and both ends of its range") {
  for (const auto& field : detail::profile_fields()) {
    for (const std::string& value : right_values(field.facts.rule)) {
      CAPTURE(field.facts.path);
      CAPTURE(value);
      for (const std::string& line : errors_in(document(field.facts.path, value))) {
        CAPTURE(line);
        // The value may contradict other fields, or need keys beside it: that is another matter.
        CHECK(line.find("; expected " + describe(field.facts.rule)) == std::string::npos);
      }
    }
  }
}

TEST_CASE("a default is in its field's range") { CHECK(check_profile(profile{}).empty()); }

TEST_CASE("the ranges also hold for a profile that is made in code") {
  profile p;
  p.steal.batch_max = 0;
  p.idle.spin = std::chrono::hours(1);
  p.dispatch.policy = "fastest";
  p.queues.local = 100;
  p.workers.pin = static_cast<pin_to>(77);
  p.topology.machine.capacities["P"] = 2000;
  p.workers.total = 0;
  line_list lines;
  for (const profile_issue& issue : check_profile(p)) lines.push_back(issue.to_string());
  const std::vector<std::string_view> names = policy_names();
  CHECK(lines == line_list{"topology.capacity.P: found \"2000\"; expected a whole number from 1 to 1024",
                           "workers.pin: found \"77\"; expected auto, core, group, node or none",
                           fmt::format("dispatch.policy: found \"fastest\"; expected {} or {}",
                                       fmt::join(names.begin(), names.end() - 1, ", "), names.back()),
                           "steal.batch_max: found \"0\"; expected a whole number from 1 to 65536",
                           "queues.local: found \"100\"; expected a power of two from 2 to 32768",
                           "idle.spin: found \"1h\"; expected a duration with its unit from 0us to 100ms",
                           "workers.total: found 0; expected 1 to 65536 workers"});
}

TEST_CASE("a duration that is too long, or that has overflowed to one below zero, is refused by its key") {
  for (const std::chrono::nanoseconds wrong :
       {std::chrono::nanoseconds::max(), std::chrono::nanoseconds(-1h)}) {
    profile p;
    p.topology.follow = {follow_setting::mode::fixed, wrong};
    p.queues.lifo_age = p.queues.oldest_first = p.blocking.stuck_after = wrong;
    p.injection.target_latency = p.idle.spin = p.blocking.keep_alive = wrong;
    p.idle.park_timeout = {park_timeout_setting::mode::fixed, wrong};
    std::vector<std::string> keys;
    for (const profile_issue& issue : check_profile(p)) keys.push_back(issue.key);
    CHECK(keys == std::vector<std::string>{"topology.follow", "queues.lifo_age", "queues.oldest_first",
                                           "injection.target_latency", "idle.spin", "idle.park_timeout",
                                           "blocking.keep_alive", "blocking.stuck_after"});
  }
  profile p;
  p.blocking.stuck_after = std::chrono::nanoseconds::max();
  CHECK_THROWS_WITH_AS(engine{p}, doctest::Contains("blocking.stuck_after"), profile_error);
}

TEST_CASE("every row of the table has a description") {
  for (const auto& field : detail::profile_fields()) {
    CAPTURE(field.facts.path);
    CHECK_FALSE(field.facts.description.empty());
    CHECK(field.facts.description.find('\n') == std::string::npos);
    const bool counts =
        field.facts.rule.what == sort::integer && field.facts.rule.min != field.facts.rule.max;
    const bool is_number_of_a_thing = field.facts.path.find("[]") != std::string::npos;
    const bool is_capacity = field.facts.rule.max == full_capacity;
    if (counts && !is_number_of_a_thing && !is_capacity) CHECK_FALSE(field.facts.unit.empty());
  }
}

TEST_CASE("the descriptions of the policies name each policy of the registry") {
  const auto described = [](std::string_view path, const std::vector<std::string_view>& names) {
    const auto& fields = detail::profile_fields();
    const auto field = std::ranges::find_if(fields, [&](const auto& f) { return f.facts.path == path; });
    REQUIRE(field != fields.end());
    for (const std::string_view name : names)
      CHECK_MESSAGE(field->facts.description.find(fmt::format("(`{}`)", name)) != std::string::npos,
                    path << " does not describe " << name);
  };
  described("dispatch.policy", policy_names());
  described("steal.policy", steal_policy_names());
}
