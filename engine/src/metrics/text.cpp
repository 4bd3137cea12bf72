#include "base/json_text.hpp"
#include "metrics/metric_table.hpp"

#include <corewise/engine/metrics.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Metrics as text for people, and for programs.

namespace corewise::detail {

namespace {

template <class T> void append_text(std::string& out, const T& values, std::span<const metric_row<T>> rows) {
  std::string_view help;
  for (const metric_row<T>& row : rows) {
    const std::string name =
        row.label.empty() ? std::string(row.name) : fmt::format("{} ({})", row.name, row.label_value);
    if (!row.help.empty()) help = row.help;
    fmt::format_to(std::back_inserter(out), "  {:<36} {:>16} {:<8} {}\n", name, value_text(row, values),
                   row.unit, help);
  }
}

std::string time_text(std::chrono::nanoseconds time) {
  if (time == std::chrono::nanoseconds::max())
    return fmt::format("> {}", time_text(time_histogram::bound(time_histogram::bounds - 1)));
  return fmt::format("{} us", time.count() / 1000);
}

template <class T>
void append_text(std::string& out, const T& values, std::span<const histogram_row<T>> rows) {
  for (const histogram_row<T>& row : rows)
    for_each_class(row, values, [&](std::string_view label, const time_histogram& times) {
      if (times.count() == 0) return;
      const std::string name =
          label.empty() ? std::string(row.name) : fmt::format("{} ({})", row.name, label);
      fmt::format_to(std::back_inserter(out), "  {:<36} p50 {}, p99 {}, {} samples; {}\n", name,
                     time_text(times.quantile(.5)), time_text(times.quantile(.99)), times.count(), row.help);
    });
}

void append_text(std::string& out, const worker_metrics& w) {
  append_text(out, w, worker_rows());
  append_text(out, w, worker_times());
}
void append_text(std::string& out, const io_metrics& g) {
  append_text(out, g, io_rows());
  append_text(out, g, io_times());
}

/// Writes an object, member by member. The members of one name that have labels follow each other; they are an object.
class json_members {
 public:
  void add(std::string_view name, std::string_view value) {
    close();
    begin(name);
    text_ += value;
  }
  void add(std::string_view name, std::string_view label, std::string_view value) {
    if (label.empty()) return add(name, value);
    if (open_ != name) {
      close();
      begin(name);
      text_ += '{';
      open_ = name;
    }
    begin(label);
    text_ += value;
  }
  std::string finish() {
    close();
    text_ += '}';
    return std::move(text_);
  }

 private:
  void begin(std::string_view name) {
    if (text_.back() != '{') text_ += ',';
    text_ += json_text(name);
    text_ += ':';
  }
  void close() {
    if (!open_.empty()) text_ += '}';
    open_ = {};
  }

  std::string text_ = "{";
  std::string_view open_; // the name of the labels that were added last
};

template <class T> void add_to(json_members& out, const T& values, std::span<const metric_row<T>> rows) {
  for (const metric_row<T>& row : rows) {
    const std::uint64_t value = row.value(values);
    out.add(row.name, row.label.empty() ? std::string_view() : row.label_value,
            in_billionths(row.unit) ? json_value(static_cast<double>(value) / 1e9) : std::to_string(value));
  }
}

std::string json_of(const time_histogram& times) {
  return fmt::format(R"({{"counts":[{}],"sum":{}}})", fmt::join(times.counts, ","),
                     json_value(seconds(times.sum)));
}

template <class T> void add_to(json_members& out, const T& values, std::span<const histogram_row<T>> rows) {
  for (const histogram_row<T>& row : rows)
    for_each_class(row, values, [&](std::string_view label, const time_histogram& times) {
      out.add(row.name, label, json_of(times));
    });
}

void add_to(json_members& out, const worker_metrics& w) {
  add_to(out, w, worker_rows());
  add_to(out, w, worker_times());
}
void add_to(json_members& out, const io_metrics& g) {
  add_to(out, g, io_rows());
  add_to(out, g, io_times());
}

/// Returns an object with those members, and the metrics.
template <class T>
std::string object_of(std::initializer_list<std::pair<std::string_view, std::string>> members,
                      const T& metrics) {
  json_members out;
  for (const auto& [name, value] : members) out.add(name, value);
  add_to(out, metrics);
  return out.finish();
}

/// Adds the I/O, unless the engine has no drivers.
void add_io_to(json_members& out, const metrics_snapshot& m, metrics_detail of) {
  if (m.io.empty()) return;
  if (of == metrics_detail::sums) return out.add("all_io", object_of({}, m.io_total()));
  out.add("io", json_list(m.io, [](const io_metrics& g) {
            return object_of({{"group", std::to_string(g.group.value)}}, g);
          }));
}

/// Returns the name of the group's kind of core, or null.
std::string kind_of(const std::vector<group_facts>& groups, group_id g) {
  const auto found = std::ranges::find(groups, g, &group_facts::group);
  return found == groups.end() ? "null" : json_text(found->kind);
}

std::string json_of_bounds() {
  std::vector<double> bounds;
  for (std::size_t i = 0; i < time_histogram::bounds; ++i)
    bounds.push_back(seconds(time_histogram::bound(i)));
  return json_list(bounds, [](double b) { return json_value(b); });
}

std::string json_of(const metrics_snapshot& m, metrics_detail of) {
  json_members out;
  out.add("profile_hash", json_text(m.profile_hash));
  out.add("profile_source", json_text(m.profile_source));
  out.add("last_machine_change", json_text(m.last_machine_change));
  add_to(out, m, engine_rows());
  add_to(out, m, process_rows());
  out.add("bounds_seconds", json_of_bounds());
  if (of == metrics_detail::workers)
    out.add("workers", json_list(m.workers, [](const worker_metrics& w) {
              return object_of(
                  {{"worker", std::to_string(w.worker.value)}, {"group", std::to_string(w.group.value)}}, w);
            }));
  else if (of == metrics_detail::sums)
    out.add("all_workers", object_of({}, m.total()));
  else
    out.add("groups", json_list(by_group(m.workers), [&](const worker_metrics& g) {
              return object_of(
                  {{"group", std::to_string(g.group.value)}, {"kind", kind_of(m.groups, g.group)}}, g);
            }));
  add_io_to(out, m, of);
  return out.finish();
}

} // namespace

} // namespace corewise::detail

namespace corewise {

std::string metrics_snapshot::to_text() const {
  std::string out = "engine\n";
  detail::append_text(out, *this, detail::engine_rows());
  out += "process\n";
  detail::append_text(out, *this, detail::process_rows());
  out += "all workers\n";
  detail::append_text(out, total());
  for (const worker_metrics& w : workers) {
    fmt::format_to(std::back_inserter(out), "worker {} of group {}\n", w.worker.value, w.group.value);
    detail::append_text(out, w);
  }
  for (const io_metrics& g : io) {
    fmt::format_to(std::back_inserter(out), "I/O of group {}\n", g.group.value);
    detail::append_text(out, g);
  }
  return out;
}

std::string metrics_snapshot::to_json(metrics_detail of) const { return detail::json_of(*this, of); }

std::string to_json(std::span<const metrics_snapshot> engines, metrics_detail of) {
  std::string all;
  for (const metrics_snapshot& m : engines)
    all +=
        fmt::format("{}{}:{}", all.empty() ? "" : ",", detail::json_text(m.engine), detail::json_of(m, of));
  return all.empty() ? "{}" : fmt::format(R"({{"engines":{{{}}}}})", all);
}

} // namespace corewise
