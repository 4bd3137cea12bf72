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

namespace {

/// Returns whether any task waits in a queue.
bool any_waits(const detail::shared& engine) noexcept {
  for (std::uint32_t d = 0; d < engine.groups().domains().size(); ++d)
    if (engine.idle().work().count_in(d) != 0) return true;
  return std::ranges::any_of(engine.layout().workers(),
                             [&](const worker_place& w) { return !engine.seat(w.id).queues().lifo.empty(); });
}

} // namespace

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
    if (supervisor_.stuck().stands(seat->id()))
      ++stuck;
    else if (const auto lending = seat->lender().lending();
             lending && supervisor_.wants_spare(seat->id(), *lending))
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
    report.state = all_stand && any_waits(*this) ? health_state::wedged : health_state::degraded;
  }
  return report;
}

} // namespace corewise
