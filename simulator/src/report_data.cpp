#include "report_figures.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace corewise {

namespace {

using json = nlohmann::ordered_json;

constexpr double exact_up_to = 0x1p53;

/// Writes a whole number without a point.
json number(double value) {
  if (std::trunc(value) == value && std::abs(value) < exact_up_to) return static_cast<std::int64_t>(value);
  return value;
}

json json_of(const profile_runs& p) {
  json object{{"profile", p.profile}, {"void", p.is_void()}};
  for (const figure& f : figures_of(p)) {
    json* at = &object;
    for (const std::string& level : f.path) at = &(*at)[level];
    *at = number(f.value);
  }
  return object;
}

/// Writes a field of RFC 4180.
std::string field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

/// The names of all profiles' figures. A profile with a machine of its own may have kinds of its own.
std::vector<std::string> names_in(const std::vector<simulation_report>& reports) {
  std::vector<std::string> names;
  for (const simulation_report& report : reports)
    for (const profile_runs& p : report.profiles) {
      auto after = names.begin();
      for (const figure& f : figures_of(p)) {
        const auto known = std::ranges::find(names, f.name());
        after = std::next(known != names.end() ? known : names.insert(after, f.name()));
      }
    }
  return names;
}

std::string line_of(const simulation_report& report, const profile_runs& p,
                    const std::vector<std::string>& names) {
  std::string line =
      fmt::format("{},{},{},{},{},{}", field(report.machine), field(report.workload), report.tasks,
                  fmt::join(report.seeds, " "), field(p.profile), p.is_void() ? 1 : 0);
  const std::vector<figure> figures = figures_of(p);
  for (const std::string& name : names) {
    const auto f = std::ranges::find(figures, name, &figure::name);
    line += ',';
    if (f != figures.end()) line += number(f->value).dump();
  }
  return line + '\n';
}

} // namespace

std::string to_json(const simulation_report& report) {
  json profiles = json::array();
  for (const profile_runs& p : report.profiles) profiles.push_back(json_of(p));
  const json all = {{"machine", report.machine},
                    {"workload", report.workload},
                    {"tasks", report.tasks},
                    {"seeds", report.seeds},
                    {"profiles", std::move(profiles)}};
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string to_csv(const std::vector<simulation_report>& reports) {
  const std::vector<std::string> names = names_in(reports);
  std::string text = "machine,workload,tasks,seeds,profile,void";
  for (const std::string& name : names) text += ',' + field(name);
  text += '\n';
  for (const simulation_report& report : reports)
    for (const profile_runs& p : report.profiles) text += line_of(report, p, names);
  return text;
}

} // namespace corewise
