#pragma once

#include "run_setup.hpp"
#include "simulated_clock.hpp"
#include "worker_states.hpp"

#include <utility>
#include <vector>

namespace corewise::detail {

/// The looks of workers that spin. Instead of a look every few nanoseconds, such a worker has a look planned
/// when something is put where the worker could take it.
class spinners {
 public:
  spinners(const run_setup& setup, simulated_clock& clock, const worker_states& states)
      : setup_(setup),
        clock_(clock),
        states_(states),
        workers_(setup.layout.size()),
        of_domain_(setup.groups.domains().size()) {}

  /// Returns whether the worker spins and no look of it is planned.
  bool at_rest(worker_id w) const noexcept {
    return states_.of(w) == worker_state::spinning && !workers_[w.value].look_planned;
  }
  /// Plans a look at the present time, unless one is planned.
  void plan_look(worker_id w) {
    if (!std::exchange(workers_[w.value].look_planned, true))
      clock_.plan_now({planned_event::kind::look, w.value, states_.generation(w)});
  }
  /// Notes that the worker looks now.
  void looks(worker_id w) noexcept { workers_[w.value].look_planned = false; }
  /// Notes that the worker spins on, with no look planned.
  void spins_on(worker_id w);

  bool none() const noexcept { return listed_ == 0; }
  bool none(std::uint32_t domain) const noexcept { return of_domain_[domain].empty(); }
  /// Plans a look of the first worker in the group, else in the domain, that spins with no look planned.
  /// Returns false if there is none.
  bool offer(std::uint32_t domain, group_id first) { return !none(domain) && offer_listed(domain, first); }

  /// Checks the counter. Throws std::logic_error.
  void look_through() const;

 private:
  struct worker {
    bool look_planned = false; ///< while it spins
    bool listed = false;       ///< in its domain's list
  };

  bool offer_listed(std::uint32_t domain, group_id first);

  const run_setup& setup_;
  simulated_clock& clock_;
  const worker_states& states_;
  std::vector<worker> workers_;
  std::vector<std::vector<std::uint32_t>> of_domain_; // with no look planned; some have stopped
  std::uint32_t listed_ = 0;                          // in all domains
};

} // namespace corewise::detail
