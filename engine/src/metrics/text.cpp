#include "metrics/metric_table.hpp"

#include <corewise/engine/metrics.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>

// What people read, and what programs read.

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

template <class T>
void add_to(nlohmann::ordered_json& out, const T& values, std::span<const metric_row<T>> rows) {
  for (const metric_row<T>& row : rows) {
    nlohmann::ordered_json& place = row.label.empty()
                                        ? out[std::string(row.name)]
                                        : out[std::string(row.name)][std::string(row.label_value)];
    const std::uint64_t value = row.value(values);
    if (in_billionths(row.unit))
      place = static_cast<double>(value) / 1e9;
    else
      place = value;
  }
}

nlohmann::ordered_json json_of(const time_histogram& times) {
  return {{"counts", times.counts}, {"sum", seconds(times.sum)}};
}

template <class T>
void add_to(nlohmann::ordered_json& out, const T& values, std::span<const histogram_row<T>> rows) {
  for (const histogram_row<T>& row : rows)
    for_each_class(row, values, [&](std::string_view label, const time_histogram& times) {
      nlohmann::ordered_json& of = out[std::string(row.name)];
      (label.empty() ? of : of[std::string(label)]) = json_of(times);
    });
}

void add_to(nlohmann::ordered_json& out, const worker_metrics& w) {
  add_to(out, w, worker_rows());
  add_to(out, w, worker_times());
}
void add_to(nlohmann::ordered_json& out, const io_metrics& g) {
  add_to(out, g, io_rows());
  add_to(out, g, io_times());
}

/// Adds the I/O, unless the engine has no drivers.
void add_io_to(nlohmann::ordered_json& out, const metrics_snapshot& m, metrics_detail of) {
  if (m.io.empty()) return;
  if (of == metrics_detail::sums) return add_to(out["all_io"], m.io_total());
  out["io"] = nlohmann::ordered_json::array();
  for (const io_metrics& g : m.io) {
    nlohmann::ordered_json one = {{"group", g.group.value}};
    add_to(one, g);
    out["io"].push_back(std::move(one));
  }
}

/// Returns the name of the group's kind of core, or null.
nlohmann::ordered_json kind_of(const std::vector<group_facts>& groups, group_id g) {
  const auto found = std::ranges::find(groups, g, &group_facts::group);
  return found == groups.end() ? nlohmann::ordered_json() : nlohmann::ordered_json(found->kind);
}

nlohmann::ordered_json json_of(const metrics_snapshot& m, metrics_detail of) {
  nlohmann::ordered_json out;
  out["profile_hash"] = m.profile_hash;
  out["profile_source"] = m.profile_source;
  out["last_machine_change"] = m.last_machine_change;
  add_to(out, m, engine_rows());
  add_to(out, m, process_rows());
  nlohmann::ordered_json& bounds = out["bounds_seconds"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < time_histogram::bounds; ++i)
    bounds.push_back(seconds(time_histogram::bound(i)));
  if (of == metrics_detail::workers) {
    out["workers"] = nlohmann::ordered_json::array();
    for (const worker_metrics& w : m.workers) {
      nlohmann::ordered_json one = {{"worker", w.worker.value}, {"group", w.group.value}};
      add_to(one, w);
      out["workers"].push_back(std::move(one));
    }
  } else if (of == metrics_detail::sums) {
    add_to(out["all_workers"], m.total());
  } else {
    out["groups"] = nlohmann::ordered_json::array();
    for (const worker_metrics& g : by_group(m.workers)) {
      nlohmann::ordered_json one = {{"group", g.group.value}, {"kind", kind_of(m.groups, g.group)}};
      add_to(one, g);
      out["groups"].push_back(std::move(one));
    }
  }
  add_io_to(out, m, of);
  return out;
}

std::string written(const nlohmann::ordered_json& out) {
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
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

std::string metrics_snapshot::to_json(metrics_detail of) const {
  return detail::written(detail::json_of(*this, of));
}

std::string to_json(std::span<const metrics_snapshot> engines, metrics_detail of) {
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (const metrics_snapshot& m : engines) all["engines"][m.engine] = detail::json_of(m, of);
  return detail::written(all);
}

} // namespace corewise
