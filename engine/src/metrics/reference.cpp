#include "metrics/metric_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace corewise {

namespace {

using detail::metric_row;
using detail::metric_type;

constexpr std::string_view head = R"(# Metrics

`engine.metrics()` reads them without stopping a worker. `to_prometheus()` and `to_openmetrics()` give them to a scraper, by
the names below. `to_text()` and `to_json()` have the same names, without `corewise_` and `_total`; `to_json()` has all workers,
or groups or sums in their place.

The metrics of workers and of I/O have the label `group`; if that were more than {} series for an engine they are sums over all groups, and
`corewise_capacity` has the label `kind`: the kind of core. On request
(`metrics_detail`) they have the label `worker` as well, or none. The sum over a label is the value for the engine. Where a
process has several engines (`engine_set`), all but the metrics of the process have the label `engine`. Counters begin at 0
with the engine and survive a reload; those of CPU quotas begin with the control group, and those of memory with the process. What the
system says of the process is a second old at most. Sums over workers that run are approximate by what happens meanwhile, and
exact at rest.

)";

constexpr std::string_view io_head = R"(
## The I/O of an engine

An engine has these if it has an `io::service`. The connections are those of listeners, in the group that handles them; those
of listeners that are gone stay counted.

)";

/// Returns links to what to do about alerts.
std::string links_to(std::string_view alerts) {
  std::string links;
  while (!alerts.empty()) {
    const std::string_view alert = alerts.substr(0, alerts.find(' '));
    alerts.remove_prefix(std::min(alert.size() + 1, alerts.size()));
    std::string anchor(alert);
    std::ranges::transform(anchor, anchor.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    links += fmt::format("{}[{}](runbook.md#{})", links.empty() ? "" : ", ", alert, anchor);
  }
  return links;
}

/// Adds a table of metrics. Rows with one name are one metric.
template <class T>
void append_table(std::string& out, std::span<const metric_row<T>> rows, std::string_view labels) {
  out += "| metric | type | labels | unit | meaning | alert |\n|---|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const metric_row<T>& row = rows[i];
    if (i != 0 && rows[i - 1].name == row.name) continue;
    std::string all(labels);
    if (!row.label.empty()) {
      if (!all.empty()) all += ", ";
      fmt::format_to(std::back_inserter(all), "`{}`:", row.label);
      for (std::size_t j = i; j < rows.size() && rows[j].name == row.name; ++j)
        fmt::format_to(std::back_inserter(all), "{} {}", j == i ? "" : ",", rows[j].label_value);
    }
    fmt::format_to(std::back_inserter(out), "| `corewise_{}{}` | {} | {} | {} | {} | {} |\n", row.name,
                   row.type == metric_type::counter ? "_total" : "", to_string(row.type), all, row.unit,
                   row.help, links_to(row.alerts));
  }
}

template <class T> void append_rows(std::string& out, std::span<const detail::histogram_row<T>> rows) {
  for (const detail::histogram_row<T>& row : rows)
    fmt::format_to(std::back_inserter(out), "| `corewise_{}` | {} | {} |\n", row.name, row.help,
                   links_to(row.alerts));
}

} // namespace

std::string metrics_reference() {
  std::string out = fmt::format(head, detail::most_series);
  out += "## The engine\n\n";
  append_table(out, detail::engine_rows(), {});
  out += "\n`corewise_build_info` is 1; its label `version` is that of the library.\n`corewise_profile_info` "
         "is 1; its label `hash` changes with the profile in force, and `source` is the file that it came "
         "from, `request` after a `PUT`.\n`corewise_group_info` "
         "is 1 for each group; its label `kind` is the name of its kind of core.\n\n## The process\n\n";
  append_table(out, detail::process_rows(), {});
  out += "\n## The workers of an engine\n\n";
  append_table(out, detail::worker_rows(), "`group`");
  out += io_head;
  append_table(out, detail::io_rows(), "`group`");
  fmt::format_to(
      std::back_inserter(out),
      "\n## Times of tasks\n\nHistograms, with bounds from 1 us to {:.1f} s by powers of two, and the label "
      "`class`: normal, and those of\nlatency and background if there were such tasks. They are sums over "
      "all "
      "groups unless more is asked for. One task of\n64 is sampled, with gaps that are drawn, so that bursts "
      "do "
      "not distort them: the counts are those of the samples. A wait of more than 9 minutes is taken for a "
      "shorter one, and a run in\nwhich a blocking call gave the worker away is not counted.\n\n| metric | "
      "meaning | alert |\n|---|---|---|\n",
      std::chrono::duration<double>(time_histogram::bound(time_histogram::bounds - 1)).count());
  append_rows(out, detail::worker_times());
  append_rows(out, detail::io_times());
  return out;
}

} // namespace corewise
