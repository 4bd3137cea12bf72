#include "base/utf8.hpp"
#include "metrics/metric_table.hpp"

#include <corewise/engine/metrics.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>
#include <vector>

// The text that a scraper reads.

namespace corewise::detail {

namespace {

std::string braced(const std::string& labels) { return labels.empty() ? labels : "{" + labels + "}"; }
std::string joined(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : a + "," + b;
}

/// Returns the value of a label, as it stands between quotes. A byte that is not UTF-8, for which a scraper would refuse
/// the whole text, becomes a question mark.
std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : in_utf8(value, "?")) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

/// Prometheus' text format 0.0.4, or OpenMetrics 1.0.
class exposition {
 public:
  explicit exposition(bool openmetrics) noexcept : openmetrics_(openmetrics) {}

  /// Begins a metric. In OpenMetrics `_total` and `_info` are no part of its name, and Prometheus knows no
  /// info.
  void begin(std::string_view name, std::string_view type, std::string_view unit, std::string_view help) {
    name_ = fmt::format("corewise_{}", name);
    suffix_ = type == "counter" ? "_total" : type == "info" ? "_info" : "";
    const std::string described = openmetrics_ ? name_ : fmt::format("{}{}", name_, suffix_);
    const std::string_view known_type = type == "info" && !openmetrics_ ? "gauge" : type;
    append("# HELP {} {}.\n# TYPE {} {}\n", described, help, described, known_type);
    if (openmetrics_ && (unit == "seconds" || unit == "bytes")) append("# UNIT {} {}\n", described, unit);
  }
  // `labels`: without braces, or empty.
  void add(const std::string& labels, std::string_view value) {
    append("{}{}{} {}\n", name_, suffix_, braced(labels), value);
  }
  void add(const std::string& labels, const time_histogram& times) {
    std::uint64_t below = 0;
    const auto bucket = [&](std::size_t i, std::string_view bound) {
      append("{}_bucket{} {}\n", name_, braced(joined(labels, fmt::format("le=\"{}\"", bound))),
             below += times.counts[i]);
    };
    for (std::size_t i = 0; i < time_histogram::bounds; ++i)
      bucket(i, fmt::format("{}", seconds(time_histogram::bound(i))));
    bucket(time_histogram::bounds, "+Inf");
    append("{}_sum{} {}\n", name_, braced(labels), seconds(times.sum));
    append("{}_count{} {}\n", name_, braced(labels), below);
  }
  std::string end() {
    if (openmetrics_) out_ += "# EOF\n";
    return std::move(out_);
  }

 private:
  template <class... Args> void append(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  const bool openmetrics_;
  std::string name_;
  std::string_view suffix_;
  std::string out_;
};

/// A part of an engine, and its labels.
template <class T> struct part {
  std::string labels;
  T numbers;
};

/// Returns the label of an engine that is not alone.
std::string label_of(const metrics_snapshot& m) {
  return m.engine.empty() ? std::string() : fmt::format("engine=\"{}\"", escaped(m.engine));
}

/// Returns the parts that have numbers of their own.
std::vector<part<worker_metrics>> parts_of(std::span<const metrics_snapshot> engines, metrics_detail of) {
  std::vector<part<worker_metrics>> parts;
  for (const metrics_snapshot& m : engines) {
    const std::string engine = label_of(m);
    if (of == metrics_detail::sums) {
      parts.push_back({engine, m.total()});
    } else if (of == metrics_detail::workers) {
      for (const worker_metrics& w : m.workers)
        parts.push_back(
            {joined(engine, fmt::format("group=\"{}\",worker=\"{}\"", w.group.value, w.worker.value)), w});
    } else {
      for (worker_metrics& g : by_group(m.workers))
        parts.push_back({joined(engine, fmt::format("group=\"{}\"", g.group.value)), g});
    }
  }
  return parts;
}

/// Returns the sums of the workers on each kind of core; nothing of an engine whose groups are not told.
std::vector<part<worker_metrics>> kinds_of(std::span<const metrics_snapshot> engines) {
  std::vector<part<worker_metrics>> parts;
  for (const metrics_snapshot& m : engines) {
    std::map<std::string_view, worker_metrics> kinds;
    for (const worker_metrics& w : m.workers)
      if (const auto g = std::ranges::find(m.groups, w.group, &group_facts::group); g != m.groups.end())
        kinds[g->kind] += w;
    for (const auto& [kind, sum] : kinds)
      parts.push_back({joined(label_of(m), fmt::format("kind=\"{}\"", escaped(kind))), sum});
  }
  return parts;
}

/// Returns the same of the I/O: groups, or sums. Engines without drivers have none.
std::vector<part<io_metrics>> io_parts_of(std::span<const metrics_snapshot> engines, metrics_detail of) {
  std::vector<part<io_metrics>> parts;
  for (const metrics_snapshot& m : engines) {
    const std::string engine = label_of(m);
    if (of != metrics_detail::sums) {
      for (const io_metrics& g : m.io)
        parts.push_back({joined(engine, fmt::format("group=\"{}\"", g.group.value)), g});
    } else if (!m.io.empty()) {
      parts.push_back({engine, m.io_total()});
    }
  }
  return parts;
}

/// Returns how many series histograms may have: classes that have had no tasks may still get some.
template <class T>
std::size_t most_series_of(std::span<const histogram_row<T>> rows, const std::vector<part<T>>& parts) {
  std::size_t histograms = 0;
  for (const histogram_row<T>& row : rows)
    for (const part<T>& p : parts) histograms += row.value(p.numbers).size();
  return histograms * (time_histogram::bounds + 3);
}

template <class T, class Add>
void expose(exposition& to, std::span<const metric_row<T>> rows, const Add& add) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const metric_row<T>& row = rows[i];
    if (i == 0 || rows[i - 1].name != row.name) to.begin(row.name, to_string(row.type), row.unit, row.help);
    add(row, row.label.empty() ? std::string() : fmt::format("{}=\"{}\"", row.label, row.label_value));
  }
}

void expose_profiles(exposition& to, std::span<const metrics_snapshot> engines) {
  if (engines.front().profile_hash.empty()) return;
  to.begin("profile", "info", {}, "The profile in force");
  for (const metrics_snapshot& m : engines)
    to.add(joined(label_of(m),
                  fmt::format("hash=\"{}\",source=\"{}\"", m.profile_hash, escaped(m.profile_source))),
           "1");
}

void expose_groups(exposition& to, std::span<const metrics_snapshot> engines) {
  if (engines.front().groups.empty()) return;
  to.begin("group", "info", {}, "The kind of core of each group");
  for (const metrics_snapshot& m : engines)
    for (const group_facts& g : m.groups)
      to.add(joined(label_of(m), fmt::format("group=\"{}\",kind=\"{}\"", g.group.value, escaped(g.kind))),
             "1");
}

/// Exposes the numbers of these parts. `kinds`: in their place for the rows by kind; may be empty.
template <class T>
void expose_parts(exposition& to, std::span<const metric_row<T>> rows, const std::vector<part<T>>& parts,
                  const std::vector<part<T>>& kinds = {}) {
  if (parts.empty()) return;
  expose(to, rows, [&](const auto& row, const std::string& label) {
    for (const part<T>& p : row.by_kind && !kinds.empty() ? kinds : parts)
      to.add(joined(p.labels, label), value_text(row, p.numbers));
  });
}

template <class T>
void expose_times(exposition& to, std::span<const histogram_row<T>> rows, const std::vector<part<T>>& parts) {
  if (parts.empty()) return;
  for (const histogram_row<T>& row : rows) {
    to.begin(row.name, "histogram", "seconds", row.help);
    for (const part<T>& p : parts)
      for_each_class(row, p.numbers, [&](std::string_view label, const time_histogram& times) {
        to.add(joined(p.labels, label.empty() ? std::string() : fmt::format("class=\"{}\"", label)), times);
      });
  }
}

std::string expose(std::span<const metrics_snapshot> engines, metrics_detail of, bool openmetrics) {
  exposition to(openmetrics);
  to.begin("build", "info", {}, "The version of the library");
  to.add(fmt::format("version=\"{}\"", COREWISE_VERSION), "1");
  if (engines.empty()) return to.end();

  auto parts = parts_of(engines, of);
  auto io_parts = io_parts_of(engines, of);
  const auto sums = parts_of(engines, metrics_detail::sums);
  const auto io_sums = io_parts_of(engines, metrics_detail::sums);
  const bool automatic = of == metrics_detail::automatic;
  const std::size_t series = process_rows().size() + engines.size() * engine_rows().size() +
                             parts.size() * (worker_rows().size() + 1) + io_parts.size() * io_rows().size() +
                             most_series_of(worker_times(), sums) + most_series_of(io_times(), io_sums);
  const bool summed = of == metrics_detail::sums || (automatic && series > engines.size() * most_series);
  if (summed) {
    parts = sums;
    io_parts = io_sums;
  }

  expose_profiles(to, engines);
  expose(to, engine_rows(), [&](const auto& row, const std::string& label) {
    for (const metrics_snapshot& m : engines) to.add(joined(label_of(m), label), value_text(row, m));
  });
  expose(to, process_rows(),
         [&](const auto& row, const std::string& label) { to.add(label, value_text(row, engines.front())); });
  expose_parts(to, worker_rows(), parts, summed ? kinds_of(engines) : std::vector<part<worker_metrics>>());
  expose_parts(to, io_rows(), io_parts);
  if (!summed) expose_groups(to, engines);
  expose_times(to, worker_times(), automatic ? sums : parts);
  expose_times(to, io_times(), automatic ? io_sums : io_parts);
  return to.end();
}

} // namespace

} // namespace corewise::detail

namespace corewise {

std::string to_prometheus(std::span<const metrics_snapshot> engines, metrics_detail of) {
  return detail::expose(engines, of, false);
}
std::string to_openmetrics(std::span<const metrics_snapshot> engines, metrics_detail of) {
  return detail::expose(engines, of, true);
}
std::string metrics_snapshot::to_prometheus(metrics_detail of) const {
  return corewise::to_prometheus({this, 1}, of);
}
std::string metrics_snapshot::to_openmetrics(metrics_detail of) const {
  return corewise::to_openmetrics({this, 1}, of);
}

} // namespace corewise
