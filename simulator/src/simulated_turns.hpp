#pragma once

#include "followed_policies.hpp"
#include "simulated_polling.hpp"
#include "simulated_search.hpp"
#include "simulated_state.hpp"
#include "simulated_waking.hpp"

#include <vector>

namespace corewise::detail {

/// The states of the engine's workers, and what leads from one to the next.
///
///     asleep ──wake──► waking ──► looking ──found──► running ──task ends──► its next task, or looking
///       ▲                            │
///       └──── spun for idle.spin ────┘
///
/// A worker that looks and finds nothing is one of its domain's searchers and spins. It has a look when
/// something is put where it could take it (`spinners`), and one when its time is up. Its bits on the board
/// are those of the engine's worker.
class simulated_turns {
 public:
  simulated_turns(simulated_state& state, followed_policies& policies, simulated_waking& waking,
                  simulated_polling& polling, simulated_search& search);

  /// Begins the worker's next task, or lets it look for one.
  void turn(worker_id w);
  /// Lets a worker that spins look for a task.
  void look(worker_id w, steal_effort effort, bool time_is_up);
  /// Notes that the worker's task has come to its end. Returns the task. Call `task_ended` when everything
  /// that follows from the task is done.
  task_index task_ends(worker_id w);
  void task_ended(worker_id w);

 private:
  void begin_task(worker_id w, task_index t, double extra_ns);
  void begin_work(worker_id w);
  void end_tick(worker_id w);
  void note_task_time(worker_id w);
  void rest(worker_id w);
  void park(worker_id w);

  simulated_state& state_;
  followed_policies& policies_;
  simulated_waking& waking_;
  simulated_polling& polling_;
  simulated_search& search_;
  std::vector<double> run_times_ns_; // by worker: of the task that it runs
};

} // namespace corewise::detail
