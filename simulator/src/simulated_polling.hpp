#pragma once

#include "simulated_state.hpp"
#include "simulated_waking.hpp"

#include <vector>

namespace corewise::detail {

/// The order in which a worker goes through its queues, as in the engine's worker.cpp and turn_plan.hpp.
class simulated_polling {
 public:
  simulated_polling(simulated_state& state, simulated_waking& waking);

  /// Takes the worker's next task. Returns `no_task` if none waits in the worker's queues and in those that
  /// it shares.
  task_index poll(worker_id w);

  // --- what a search takes
  /// Takes from the inbox and the injection queue. `due`: it is their turn, before the worker's own tasks.
  task_index poll_shared(worker_id w, bool due);
  /// Takes a batch from the injection queue of a group. Returns the first task; the ring keeps the rest.
  task_index take_injected(worker_id w, group_id from);
  /// Takes a batch from the victim. Returns the first task; the ring keeps the rest.
  task_index steal_from(worker_id thief, worker_id victim, level distance);

  // --- what changes the order
  /// Notes that a worker begins to work after it was idle.
  void work_begins(worker_id w) noexcept;
  /// Notes that a tick has ended, in which a task took so long on average.
  void tick_ends(worker_id w, std::uint64_t average_ns) noexcept;

 private:
  /// As in the engine's worker.
  struct queue_turns {
    std::uint32_t until_shared = 1;
    std::uint32_t interval = 8;
    std::uint32_t next_left = 0;
    std::uint32_t latency_left = latency_row;
    std::uint32_t background_at = 0;
    bool injection_first = true;
    bool ring_turn = true;
    bool background_turn = true;
  };

  queue_turns& of(worker_id w) noexcept { return turns_[w.value]; }
  task_index poll_due(worker_id w);
  task_index poll_latency(worker_id w);
  task_index take_next(worker_id w);
  task_index take_inbox(worker_id w, bool batch);
  task_index take_oldest(worker_id w);
  task_index keep(worker_id w, task_row& taken, std::uint32_t in_front);
  std::uint32_t share_of(worker_id w, std::uint32_t waiting) const noexcept;
  std::uint32_t room(worker_id w) const noexcept;
  void note_stolen(worker_id thief, worker_id victim, level distance, std::uint32_t tasks) noexcept;

  simulated_state& state_;
  simulated_queues& queues_;
  simulated_waking& waking_;
  std::vector<queue_turns> turns_; // by worker
};

} // namespace corewise::detail
