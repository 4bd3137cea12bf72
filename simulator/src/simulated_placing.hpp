#pragma once

#include "followed_policies.hpp"
#include "simulated_state.hpp"
#include "simulated_waking.hpp"

#include <corewise/policies/repeated_placement.hpp>

#include <vector>

namespace corewise::detail {

/// How a task gets to a queue, as in the engine's submission.cpp, routing.hpp and pushing.cpp.
class simulated_placing {
 public:
  simulated_placing(simulated_state& state, followed_policies& policies, simulated_waking& waking);

  /// Places a task of the thread outside that is on that CPU.
  void submit_outside(task_index t, std::uint32_t cpu);
  /// Places a task that the running task of worker w submits.
  void submit_on_worker(task_index t, worker_id w);
  /// Puts a task into the deque of forks of worker w, whose running task forks it.
  void fork(task_index t, worker_id w);
  /// Wakes a task that goes on: the running task of worker w wakes it.
  void wake_task(task_index t, worker_id w);
  /// Queues a task again that has yielded on worker w.
  void yield(task_index t, worker_id w);
  /// Moves a task that no worker has taken from the slot for so long to the inbox, as the engine's supervisor
  /// does. `puts`: how many tasks had been put into the slot when this one was.
  void slot_aged(worker_id w, std::uint32_t puts);

 private:
  struct outside_thread {
    placement_rng rng{0};
    placement_cursor cursor;
    repeated_placement last;
  };
  struct slot_age {
    std::uint32_t puts = 0;     ///< how many tasks were ever put into the slot
    std::uint32_t begun_at = 0; ///< how many tasks the worker had begun when the slot's task was put there
  };

  placement_hint hint_of(const simulated_task& task) const noexcept;
  load_view view_for(std::uint64_t task_time_ns) const noexcept;
  void send(task_index t, const placement& to);
  void put(task_index t, const placement& to);
  void put_in_class(task_index t, group_id g);
  void send_back(task_index t, worker_id from);
  void push_next(worker_id w, task_index t);
  void push(worker_id w, task_index t);

  simulated_state& state_;
  followed_policies& policies_;
  simulated_waking& waking_;
  const bool resumptions_return_;
  std::vector<outside_thread> outside_; // by CPU
  std::vector<slot_age> slots_;         // by worker
};

} // namespace corewise::detail
