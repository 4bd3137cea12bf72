#include <corewise/engine/load.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>

// What people read of a load, what programs read, and what proxies read.

namespace corewise {

namespace {

nlohmann::ordered_json in_seconds(std::optional<std::chrono::nanoseconds> time) {
  if (!time) return nullptr;
  return std::chrono::duration<double>(*time).count();
}

/// Returns the figures by name; null: not known.
nlohmann::ordered_json figures(const load_report& r) {
  nlohmann::ordered_json out = {
      {"state", to_string(r.state)},
      {"draining", r.draining},
      {"tasks_in_flight", r.tasks_in_flight},
      {"tasks_queued", r.tasks_queued},
      {"tasks_running", r.tasks_running},
      {"wait_p50_seconds", in_seconds(r.wait_p50)},
      {"wait_p99_seconds", in_seconds(r.wait_p99)},
      {"oldest_wait_seconds", in_seconds(r.oldest_wait)},
      {"expected_delay", r.expected_delay},
      {"utilization", r.utilization},
      {"cpu_utilization", r.cpu_utilization},
      {"capacity_cpus", r.capacity},
      {"effective_capacity_cpus", r.effective_capacity},
      {"window_seconds", in_seconds(r.window)},
  };
  if (!r.requests) return out;
  out["requests_in_flight"] = r.requests->in_flight;
  out["requests_mean_in_flight"] = r.requests->mean_in_flight;
  if (r.requests->limit != 0) out["requests_limit"] = r.requests->limit;
  out["request_latency_seconds"] = in_seconds(r.requests->latency);
  out["rps"] = r.requests->rps;
  out["eps"] = r.requests->eps;
  return out;
}

/// Returns the report as ORCA names it. Its numbers are finite.
nlohmann::ordered_json orca(const load_report& r) {
  nlohmann::ordered_json named = {{"in_flight", r.requests ? r.requests->in_flight : r.tasks_in_flight},
                                  {"expected_delay", r.expected_delay},
                                  {"effective_capacity_cpus", r.effective_capacity}};
  if (r.wait_p50) named["wait_p50_seconds"] = in_seconds(r.wait_p50);
  if (r.requests && r.requests->latency) named["latency_seconds"] = in_seconds(r.requests->latency);
  nlohmann::ordered_json out = {{"cpu_utilization", r.cpu_utilization},
                                {"application_utilization", r.utilization}};
  if (r.requests) {
    out["rps_fractional"] = r.requests->rps;
    out["eps"] = r.requests->eps;
  }
  out["named_metrics"] = std::move(named);
  return out;
}

} // namespace

std::string load_report::to_text() const {
  std::string out;
  const nlohmann::ordered_json all = figures(*this);
  for (const auto& [name, value] : all.items())
    if (!value.is_null())
      fmt::format_to(std::back_inserter(out), "{}={}\n", name,
                     value.is_string() ? value.get<std::string>() : value.dump());
  return out;
}

std::string load_report::to_json() const { return figures(*this).dump(); }

std::string orca_text(const load_report& load) {
  std::string out = "TEXT ";
  const auto append = [&out](const std::string& name, const nlohmann::ordered_json& value) {
    fmt::format_to(std::back_inserter(out), "{}{}={}", out.back() == ' ' ? "" : ",", name, value.dump());
  };
  const nlohmann::ordered_json all = orca(load);
  for (const auto& [name, value] : all.items()) {
    if (!value.is_object()) {
      append(name, value);
      continue;
    }
    for (const auto& [inner, of_name] : value.items()) append(name + "." + inner, of_name);
  }
  return out;
}

std::string orca_json(const load_report& load) { return "JSON " + orca(load).dump(); }

} // namespace corewise
