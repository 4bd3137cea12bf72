#pragma once

#include "followed_policies.hpp"
#include "simulated_placing.hpp"
#include "simulated_polling.hpp"
#include "simulated_search.hpp"
#include "simulated_state.hpp"
#include "simulated_turns.hpp"
#include "simulated_waking.hpp"
#include "simulated_workload.hpp"

namespace corewise::detail {

/// A run of a simulation: the engine's workers as states and events. The engine's own code decides: the
/// policies, the boards that they read, and the rules of idle_rules.hpp and shared_work.hpp. The simulator
/// has only what happens between two decisions, and when.
///
///     simulated_run ─┬─► workload ──► placing ───────────┬─► waking ──► state
///                    └─► turns ──► search ──► polling ───┘
///
/// An event goes to the workload or to the turns of a worker, and the end of a task to both.
class simulated_run {
  friend class scripted_simulation; // tests/simulator/order_test.cpp

 public:
  /// Prepares a run; all arguments must outlive it.
  simulated_run(const profile& p, const simulated_machine& machine, const workload& w,
                const simulation_options& options);

  simulation_result run();

 private:
  static bool waits_only(const planned_event& e) noexcept;
  /// Throws `workload_error` if the run does not end within the limits. The limits keep a run from going on
  /// for ever, and from taking all memory.
  void check_limits(std::int64_t next_ns) const {
    if (next_ns == latest_time_ns || state_.tasks.alive() > state_.setup.options.most_in_system)
      refuse(next_ns);
  }
  [[noreturn]] void refuse(std::int64_t next_ns) const;
  void handle(const planned_event& e);
  void end_task(worker_id w);
  void tell_progress() const;

  simulated_state state_;
  followed_policies policies_;
  simulated_waking waking_;
  simulated_placing placing_;
  simulated_polling polling_;
  simulated_search search_;
  simulated_turns turns_;
  simulated_workload workload_;
};

} // namespace corewise::detail
