#include "runtime/runtime.hpp"

#include <corewise/engine/health.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace corewise {

std::string_view to_string(health_state state) noexcept {
  switch (state) {
  case health_state::degraded: return "degraded";
  case health_state::wedged: return "wedged";
  case health_state::ended: return "ended";
  case health_state::ok: break;
  }
  return "ok";
}

health_report runtime::health() const {
  health_report report;
  if (after_process_fork() || now(std::memory_order_relaxed) != stage::open) {
    report.state = health_state::ended;
    report.why.emplace_back(after_process_fork() ? "the engine belongs to the parent of this process"
                                                 : "the engine shuts down or has ended");
    return report;
  }
  std::size_t workers = 0;
  std::size_t stuck = 0;
  std::size_t want_spares = 0;
  for (const detail::worker* seat : seats_) {
    if (!active(seat->id())) continue;
    ++workers;
    if (supervisor_.is_stuck(seat->id()))
      ++stuck;
    else if (const auto lending = seat->lending(); lending && supervisor_.wants_spare(seat->id(), *lending))
      ++want_spares;
  }
  if (stuck != 0)
    report.why.push_back(
        fmt::format("{} of {} workers run tasks that do not end (`blocking.stuck_after`)", stuck, workers));
  if (want_spares != 0)
    report.why.push_back(
        fmt::format("{} of {} workers are in blocking calls, and there is no spare thread for them",
                    want_spares, workers));
  if (!report.why.empty()) {
    const bool all_stand = stuck + want_spares == workers && supervisor_.nothing_begins();
    report.state = all_stand && any_waits() ? health_state::wedged : health_state::degraded;
  }
  return report;
}

/// Returns whether any task waits in a queue.
bool runtime::any_waits() const noexcept {
  for (std::uint32_t d = 0; d < groups_.domains().size(); ++d)
    if (idle_->work().count_in(d) != 0) return true;
  return std::ranges::any_of(queues_, [](const detail::worker_queues* q) { return !q->lifo.empty(); });
}

} // namespace corewise
