#include "report_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace corewise {

namespace {

constexpr std::array<std::string_view, level_count> level_heads{"group", "domain", "node", "package",
                                                                "beyond"};

using row = std::vector<std::string>;

/// Writes columns as wide as they must be: the first is aligned to the left, the others to the right.
std::string table(const std::vector<row>& rows) {
  std::vector<std::size_t> widths;
  for (const row& r : rows) {
    widths.resize(std::max(widths.size(), r.size()));
    for (std::size_t i = 0; i < r.size(); ++i) widths[i] = std::max(widths[i], r[i].size());
  }
  std::string text;
  for (const row& r : rows) {
    std::string line;
    for (std::size_t i = 0; i < r.size(); ++i)
      line += i == 0 ? fmt::format("{:<{}}", r[i], widths[i]) : fmt::format("  {:>{}}", r[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

/// Writes a time in three digits or so, with the largest unit that leaves at least 1.
std::string time(double ns) {
  static constexpr std::array<std::pair<double, std::string_view>, 3> units{
      {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}}};
  for (const auto& [size, name] : units)
    if (ns >= size) {
      const double n = ns / size;
      return fmt::format("{:.{}f}{}", n, n < 10 ? 2 : (n < 100 ? 1 : 0), name);
    }
  return fmt::format("{:.0f}ns", ns);
}

std::string rate(double per_second) {
  if (per_second >= 1e6) return fmt::format("{:.2f}M", per_second / 1e6);
  if (per_second >= 1e4) return fmt::format("{:.1f}k", per_second / 1e3);
  return fmt::format("{:.0f}", per_second);
}

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

template <class Of> double median_of(const profile_runs& p, Of of) {
  std::vector<double> values;
  for (const simulation_result& r : p.runs) values.push_back(of(r));
  return median(std::move(values));
}

double of_tasks(const simulation_result& r, double n) {
  return r.tasks == 0 ? 0 : n / static_cast<double>(r.tasks);
}

/// The kinds of all profiles' machines.
std::vector<std::string> kinds_in(const simulation_report& report) {
  std::vector<std::string> names;
  for (const profile_runs& p : report.profiles)
    for (const auto& kind : p.runs.at(0).kinds)
      if (std::ranges::find(names, kind.name) == names.end()) names.push_back(kind.name);
  std::ranges::reverse(names); // fastest first, as everywhere
  return names;
}

std::string busy_of(const profile_runs& p, const std::string& name) {
  std::vector<double> values;
  for (const simulation_result& r : p.runs)
    for (const auto& kind : r.kinds)
      if (kind.name == name) values.push_back(kind.busy);
  return values.empty() ? "-" : percent(median(std::move(values)));
}

std::string how_long(const simulation_report& report) {
  const bool several = report.seeds.size() > 1;
  row head{"response", "mean", "p50", "p99"};
  if (several) head.insert(head.end(), {"least", "most"});
  head.insert(head.end(), {"p99.9", "p99.99", "slowdown p99", "tasks/s", ""});
  std::vector<row> rows{head};
  for (const profile_runs& p : report.profiles) {
    std::vector<double> p99;
    for (const simulation_result& r : p.runs) p99.push_back(r.response.quantile(0.99));
    const auto quantile = [&p](double q) {
      return time(median_of(p, [q](const simulation_result& r) { return r.response.quantile(q); }));
    };
    row r{p.profile, time(median_of(p, [](const auto& run) { return run.response.mean(); })), quantile(0.5),
          quantile(0.99)};
    if (several) r.insert(r.end(), {time(std::ranges::min(p99)), time(std::ranges::max(p99))});
    const double slowdown = median_of(p, [](const auto& run) { return run.slowdown.quantile(0.99) / 1000; });
    r.insert(r.end(), {quantile(0.999), quantile(0.9999), fmt::format("{:.2f}", slowdown),
                       rate(median_of(p, [](const auto& run) { return run.throughput(); })),
                       p.is_void() ? "void" : ""});
    rows.push_back(std::move(r));
  }
  return table(rows);
}

std::string what_with(const simulation_report& report) {
  const std::vector<std::string> kinds = kinds_in(report);
  row head{"workers"};
  for (const std::string& kind : kinds) head.push_back("busy " + kind);
  head.insert(head.end(), {"in system", "wake-ups/1000 tasks", "J/million tasks"});
  std::vector<row> rows{head};
  for (const profile_runs& p : report.profiles) {
    row r{p.profile};
    for (const std::string& kind : kinds) r.push_back(busy_of(p, kind));
    const double wake_ups =
        median_of(p, [](const auto& run) { return of_tasks(run, 1e3 * static_cast<double>(run.wake_ups)); });
    const double joules = median_of(p, [](const auto& run) { return of_tasks(run, 1e6 * run.joules()); });
    r.insert(r.end(),
             {fmt::format("{:.1f}", median_of(p, [](const auto& run) { return run.mean_in_system; })),
              fmt::format("{:.1f}", wake_ups), fmt::format("{:.1f}", joules)});
    rows.push_back(std::move(r));
  }
  return table(rows);
}

std::string where(const simulation_report& report) {
  row head{"of all tasks"};
  for (const std::string_view what : {"ran: ", "stolen: "})
    for (std::size_t l = 0; l < level_count; ++l)
      head.push_back((l == 0 ? std::string(what) : "") + std::string(level_heads[l]));
  head.insert(head.begin() + 1, "crossed");
  std::vector<row> rows{head};
  for (const profile_runs& p : report.profiles) {
    row r{p.profile, percent(median_of(p, [](const auto& run) { return run.crossed(); }))};
    for (const auto counts : {&simulation_result::ran_at, &simulation_result::stolen_at})
      for (std::size_t l = 0; l < level_count; ++l)
        r.push_back(percent(median_of(
            p, [=](const auto& run) { return of_tasks(run, static_cast<double>((run.*counts)[l])); })));
    rows.push_back(std::move(r));
  }
  return table(rows);
}

} // namespace

std::string to_text(const simulation_report& report) {
  const bool several = report.seeds.size() > 1;
  std::string text = fmt::format("{}\n{}\n{} tasks, {} {}{}\n\n", report.machine, report.workload,
                                 report.tasks, several ? "seeds" : "seed", fmt::join(report.seeds, ", "),
                                 several ? ": medians, and the least and the most p99" : "");
  text += how_long(report) + '\n' + what_with(report) + '\n' + where(report);
  if (std::ranges::any_of(report.profiles, &profile_runs::is_void))
    text += "\nvoid: the p99 of the second half is not within 5% of the first half's. The run was too short, "
            "or more work came\nthan the machine can do under that profile; its figures mean nothing.\n";
  return text;
}

} // namespace corewise
