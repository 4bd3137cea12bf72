#include "measuring.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace corewise::detail {

measuring::measuring(const simulated_machine& machine, std::uint64_t tasks, double warm_up)
    : warm_after_(static_cast<std::uint64_t>(static_cast<double>(tasks) * std::clamp(warm_up, 0.0, 0.99))),
      half_after_(warm_after_ + (tasks - warm_after_) / 2),
      spent_(machine.machine->kinds().size()) {
  for (const core_kind& kind : machine.machine->kinds()) {
    simulation_result::kind_result k;
    k.name = kind.name;
    result_.kinds.push_back(std::move(k));
  }
  for (const worker_place& w : machine.workers.workers())
    ++result_.kinds[machine.groups[w.group].kind].workers;
}

void measuring::leaves(std::int64_t now_ns, std::int64_t entered_ns, double service_ns,
                       bool responded) noexcept {
  advance(now_ns);
  --in_system_;
  times_ += static_cast<wide>(now_ns - entered_ns);
  if (ended_ == warm_after_) begin(now_ns);
  ++ended_;
  ++result_.tasks;
  if (!responded) return;
  const auto response_ns = static_cast<double>(now_ns - entered_ns);
  result_.response.add(response_ns);
  (ended_ <= half_after_ ? result_.first_half : result_.second_half).add(response_ns);
  if (service_ns > 0) result_.slowdown.add(response_ns / service_ns * 1000);
}

/// Begins the measured part: forgets the counts of the warm-up.
void measuring::begin(std::int64_t now_ns) noexcept {
  advance(now_ns);
  integral_before_ = integral_;
  began_ns_ = now_ns;
  for (auto& s : spent_) s = {};
  for (auto& k : result_.kinds) k.tasks = 0;
  result_.tasks = result_.placed = result_.wake_ups = result_.parks = 0;
  result_.idle_beside_work_ns = 0;
  result_.ran_at = result_.stolen_at = {};
  result_.response = result_.first_half = result_.second_half = result_.slowdown = histogram();
}

void measuring::spent(std::uint32_t kind, std::int64_t from_ns, std::int64_t to_ns, bool busy,
                      bool asleep) noexcept {
  const auto time = static_cast<double>(to_ns - std::max(from_ns, began_ns_));
  if (time <= 0) return;
  spent_time& s = spent_[kind];
  (busy ? s.busy : asleep ? s.asleep : s.other) += time;
}

simulation_result measuring::finish(std::int64_t now_ns, const machine_costs& costs, std::uint64_t events,
                                    wide still_ns) {
  advance(now_ns);
  if (integral_ != times_ + still_ns)
    throw std::logic_error("the simulation has lost a task, or counted one twice");
  simulation_result r = std::move(result_);
  r.ended_ns = now_ns;
  r.measured_ns = now_ns - began_ns_;
  r.events = events;
  const auto time = static_cast<double>(std::max<std::int64_t>(1, r.measured_ns));
  r.mean_in_system = static_cast<double>(integral_ - integral_before_) / time;
  double busy = 0;
  double workers = 0;
  for (std::size_t k = 0; k < r.kinds.size(); ++k) {
    auto& kind = r.kinds[k];
    const double all = time * std::max(1U, kind.workers);
    kind.busy = spent_[k].busy / all;
    kind.idle = spent_[k].asleep / all;
    const machine_costs::power power = costs.energy_of(kind.name);
    kind.joules = ((spent_[k].busy + spent_[k].other) * power.active + spent_[k].asleep * power.idle) * 1e-9;
    busy += spent_[k].busy;
    workers += kind.workers;
  }
  r.busy = busy / (time * std::max(1.0, workers));
  return r;
}

} // namespace corewise::detail

namespace corewise {

double simulation_result::joules() const noexcept {
  return std::accumulate(kinds.begin(), kinds.end(), 0.0,
                         [](double sum, const kind_result& k) { return sum + k.joules; });
}

double simulation_result::crossed() const noexcept {
  const auto all = std::accumulate(ran_at.begin(), ran_at.end(), std::uint64_t{0});
  return all == 0 ? 0 : static_cast<double>(ran_at.back()) / static_cast<double>(all);
}

} // namespace corewise
