#pragma once

#include "boards.hpp"
#include "data_places.hpp"
#include "live_counts.hpp"
#include "measuring.hpp"
#include "run_setup.hpp"
#include "simulated_clock.hpp"
#include "simulated_queues.hpp"
#include "spinners.hpp"
#include "tasks.hpp"
#include "worker_debts.hpp"
#include "worker_states.hpp"
#include "worker_ticks.hpp"

namespace corewise::detail {

/// The state of a run. The classes that make decisions share it; each part of it keeps its own books.
struct simulated_state {
  simulated_state(const profile& p, const simulated_machine& m, const workload& w,
                  const simulation_options& o)
      : setup(p, m, w, o),
        places(setup),
        boards(m.groups, m.workers, setup.ring_capacity, setup.inbox_capacity),
        debts(setup),
        measured(m, o.tasks, o.warm_up),
        live(m.workers, bool(o.on_moment)),
        queues(setup, tasks, boards, debts),
        workers(setup, clock, boards, measured, live),
        spinning(setup, clock, workers),
        ticks(setup, clock) {}
  simulated_state(const simulated_state&) = delete;
  simulated_state& operator=(const simulated_state&) = delete;

  /// Checks that boards and counters agree with queues and states. Throws std::logic_error.
  void look_through() const;

  const run_setup setup;
  const data_places places;
  simulated_clock clock;
  task_pool tasks;
  simulated_boards boards;
  worker_debts debts;
  measuring measured;
  live_counts live;
  simulated_queues queues;
  worker_states workers;
  spinners spinning;
  worker_ticks ticks;
};

} // namespace corewise::detail
