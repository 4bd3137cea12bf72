#include "tune_report.hpp"

#include <fmt/format.h>

namespace corewise::command {

namespace {

json json_of(const tuning_comparison& c) {
  return {{"ratio", c.ratio},
          {"low", c.low},
          {"high", c.high},
          {"median", c.median},
          {"beyond_luck", c.beyond_luck}};
}

json by_workload(const tuning_result& r, const tuning_story& story) {
  json list = json::array();
  for (std::size_t w = 0; w < r.by_workload.size(); ++w) {
    json one{{"workload", story.workloads.at(w)}};
    one.update(json_of(r.by_workload[w]));
    list.push_back(one);
  }
  return list;
}

json purposes_of(const tuning_result& r) {
  json list = json::array();
  for (const auto& p : r.over_purposes) {
    json one{{"name", p.name}};
    one.update(json_of(p.over));
    list.push_back(one);
  }
  return list;
}

json price_of(const tuning_figures& f) {
  return {{"awake_without_task_share", f.awake_share},
          {"wake_ups_per_task", f.wake_ups_per_task},
          {"joules_per_task", f.joules_per_task}};
}

json name_or_null(const std::string& name) { return name.empty() ? json() : json(name); }

json changes_of(const tuning_result& r) {
  json list = json::array();
  for (const auto& c : r.changes)
    list.push_back({{"key", c.field.key},
                    {"before", c.field.text(c.before)},
                    {"after", c.field.text(r.gained ? c.after : c.before)},
                    {"searched", c.field.text(c.after)}});
  return list;
}

} // namespace

std::string text_of(const tuning_result& r, const tuning_options& options, const tuning_story& story) {
  std::string out = fmt::format("{}: {} profiles on seeds {} to {}, judged on seeds {} to {}\n",
                                story.machine, r.evaluations, options.first_seed,
                                options.first_seed + options.seeds - 1, options.first_seed + options.seeds,
                                options.first_seed + options.seeds + options.held_out - 1);
  for (const std::string& line : findings(r, options)) out += line + '\n';
  if (!r.gained) return out;
  out += '\n';
  for (const auto& c : r.changes)
    if (c.before != c.after)
      out +=
          fmt::format("  {:<32} {} (was {})\n", c.field.key, c.field.text(c.after), c.field.text(c.before));
  return out;
}

json json_of(const tuning_result& r, const tuning_options& options, const tuning_story& story) {
  const std::uint64_t judged = options.first_seed + options.seeds;
  return {{"machine", story.machine},
          {"start", story.start},
          {"gained", r.gained},
          {"shipped", name_or_null(r.shipped)},
          {"basis", name_or_null(r.basis)},
          {"findings", findings(r, options)},
          {"over_start", json_of(r.over_start)},
          {"over_default", json_of(r.over_default)},
          {"over_purposes", purposes_of(r)},
          {"price", {{"start", price_of(r.of_start)}, {"found", price_of(r.of_candidate)}}},
          {"p99_over_start", json_of(r.p99_over_start)},
          {"by_workload", by_workload(r, story)},
          {"searched_ratio", r.searched_ratio},
          {"changes", changes_of(r)},
          {"tasks", story.tasks},
          {"seeds", {options.first_seed, judged - 1}},
          {"held_out_seeds", {judged, judged + options.held_out - 1}},
          {"evaluations", r.evaluations},
          {"exhausted", r.exhausted},
          {"command", story.command}};
}

} // namespace corewise::command
