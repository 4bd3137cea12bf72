#include "report.hpp"

#include <corewise/engine/metrics.hpp>

#include <fmt/format.h>

namespace corewise::command {

namespace {

constexpr std::string_view row_format = "{:<22}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>11}\n";

worker_metrics sum_of(const metrics_snapshot& all, group_id g) {
  metrics_snapshot of_group;
  for (const worker_metrics& w : all.workers)
    if (w.group == g) of_group.workers.push_back(w);
  return of_group.total();
}

std::string row(std::string_view what, const worker_metrics& m) {
  const double busy_s = std::chrono::duration<double>(m.busy).count();
  return fmt::format(row_format, what, m.placed, m.executed, m.blocking_calls, m.stolen[0], m.stolen[1],
                     m.stolen[2], m.stolen[3], m.stolen[4], m.parks, fmt::format("{:.3f} s", busy_s));
}

std::string head() {
  return fmt::format("{:<22}{:>27}   {:-^42}\n", "", "tasks", " stolen, by level ") +
         fmt::format(row_format, "", "placed", "run", "blocked", "group", "domain", "node", "package",
                     "beyond", "parked", "busy");
}

std::string rows_of_group(const engine& e, const metrics_snapshot& all, const locality_group& g) {
  const core_kind& kind = e.machine().kinds()[g.kind];
  std::string text = row(fmt::format("group {} ({})", g.id.value, kind.name), sum_of(all, g.id));
  for (const worker_metrics& w : all.workers)
    if (w.group == g.id)
      text += row(fmt::format("  worker {} on {}", w.worker.value, e.workers()[w.worker].cpu), w);
  return text;
}

} // namespace

std::string report_of(const engine& e, const digest_count& count, std::chrono::duration<double> took) {
  const metrics_snapshot all = e.metrics();
  const auto bytes = static_cast<double>(count.bytes);
  std::string text = fmt::format("{} files, {} in {:.3f} s ({}/s): {} tasks, {} blocking calls\n\n",
                                 count.files, with_unit(bytes), took.count(), with_unit(bytes / took.count()),
                                 all.finished, all.total().blocking_calls);
  text += head();
  for (const locality_group& g : e.groups().groups())
    if (!e.workers().of_group(g.id).empty()) text += rows_of_group(e, all, g);
  for (const std::string& warning : e.warnings()) text += fmt::format("warning: {}\n", warning);
  return text;
}

} // namespace corewise::command
