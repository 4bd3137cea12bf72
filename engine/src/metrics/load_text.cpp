#include "base/json_text.hpp"

#include <corewise/engine/load.hpp>

#include <fmt/format.h>

#include <chrono>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// A load as text for people, for programs, and for proxies.

namespace corewise {

namespace {

/// A figure: its name, and its value as JSON; "null": not known.
struct figure {
  std::string_view name;
  std::string value;
};

using detail::json_value;

std::string in_seconds(std::optional<std::chrono::nanoseconds> time) {
  return time ? json_value(std::chrono::duration<double>(*time).count()) : "null";
}

std::vector<figure> figures(const load_report& r) {
  std::vector<figure> out{
      {"state", detail::json_text(to_string(r.state))},
      {"draining", json_value(r.draining)},
      {"tasks_in_flight", json_value(r.tasks_in_flight)},
      {"tasks_queued", json_value(r.tasks_queued)},
      {"tasks_running", json_value(r.tasks_running)},
      {"wait_p50_seconds", in_seconds(r.wait_p50)},
      {"wait_p99_seconds", in_seconds(r.wait_p99)},
      {"oldest_wait_seconds", in_seconds(r.oldest_wait)},
      {"expected_delay", json_value(r.expected_delay)},
      {"utilization", json_value(r.utilization)},
      {"cpu_utilization", json_value(r.cpu_utilization)},
      {"capacity_cpus", json_value(r.capacity)},
      {"effective_capacity_cpus", json_value(r.effective_capacity)},
      {"window_seconds", in_seconds(r.window)},
  };
  if (!r.requests) return out;
  out.push_back({"requests_in_flight", json_value(r.requests->in_flight)});
  out.push_back({"requests_mean_in_flight", json_value(r.requests->mean_in_flight)});
  if (r.requests->limit != 0) out.push_back({"requests_limit", json_value(r.requests->limit)});
  out.push_back({"request_latency_seconds", in_seconds(r.requests->latency)});
  out.push_back({"rps", json_value(r.requests->rps)});
  out.push_back({"eps", json_value(r.requests->eps)});
  return out;
}

/// Returns the report as ORCA names it, but for the named metrics. Its numbers are finite.
std::vector<figure> orca(const load_report& r) {
  std::vector<figure> out{{"cpu_utilization", json_value(r.cpu_utilization)},
                          {"application_utilization", json_value(r.utilization)}};
  if (!r.requests) return out;
  out.push_back({"rps_fractional", json_value(r.requests->rps)});
  out.push_back({"eps", json_value(r.requests->eps)});
  return out;
}

std::vector<figure> named_metrics(const load_report& r) {
  std::vector<figure> out{{"in_flight", json_value(r.requests ? r.requests->in_flight : r.tasks_in_flight)},
                          {"expected_delay", json_value(r.expected_delay)},
                          {"effective_capacity_cpus", json_value(r.effective_capacity)}};
  if (r.wait_p50) out.push_back({"wait_p50_seconds", in_seconds(r.wait_p50)});
  if (r.requests && r.requests->latency) out.push_back({"latency_seconds", in_seconds(r.requests->latency)});
  return out;
}

std::string object_of(const std::vector<figure>& all) {
  std::string out;
  for (const figure& f : all) out += fmt::format(R"({}"{}":{})", out.empty() ? "" : ",", f.name, f.value);
  return "{" + out + "}";
}

} // namespace

std::string load_report::to_text() const {
  std::string out;
  for (const figure& f : figures(*this)) {
    std::string_view value = f.value;
    if (value == "null") continue;
    if (value.front() == '"') value = value.substr(1, value.size() - 2);
    fmt::format_to(std::back_inserter(out), "{}={}\n", f.name, value);
  }
  return out;
}

std::string load_report::to_json() const { return object_of(figures(*this)); }

std::string orca_text(const load_report& load) {
  std::string out;
  const auto append = [&out](std::string_view in, const figure& f) {
    fmt::format_to(std::back_inserter(out), "{}{}{}={}", out.empty() ? "TEXT " : ",", in, f.name, f.value);
  };
  for (const figure& f : orca(load)) append("", f);
  for (const figure& f : named_metrics(load)) append("named_metrics.", f);
  return out;
}

std::string orca_json(const load_report& load) {
  std::vector<figure> all = orca(load);
  all.push_back({"named_metrics", object_of(named_metrics(load))});
  return "JSON " + object_of(all);
}

} // namespace corewise
