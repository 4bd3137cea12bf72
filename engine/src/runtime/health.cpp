#include "runtime/runtime.hpp"

#include <corewise/engine/health.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

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

bool wants_spare(const detail::supervisor& supervisor, const detail::worker& seat) noexcept {
  const auto lending = seat.lender().lending();
  return lending && supervisor.wants_spare(seat.id(), *lending);
}

} // namespace

health_report runtime::troubles() const {
  health_report report;
  if (const stage at = now(std::memory_order_relaxed); at != stage::open) {
    report.state = health_state::ended;
    if (at != stage::in_child)
      report.why.emplace_back("the engine shuts down or has ended"); // no memory there
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
    else if (wants_spare(supervisor_, *seat))
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

health_report runtime::health() const {
  health_report report = troubles();
  if (report.state != health_state::degraded && report.state != health_state::wedged) return report;
  for (const locality_group& g : groups_.groups()) {
    const bool serves = std::ranges::any_of(seats_, [&](const detail::worker* seat) {
      return seat->place().group == g.id && active(seat->id()) && !supervisor_.stuck().stands(seat->id()) &&
             !wants_spare(supervisor_, *seat);
    });
    if (!serves)
      std::ranges::move(idle_->socket_waits(g.id, health_report::most_socket_waits),
                        std::back_inserter(report.socket_waits));
  }
  return report;
}

} // namespace corewise
