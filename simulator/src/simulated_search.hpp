#pragma once

#include "followed_policies.hpp"
#include "simulated_polling.hpp"
#include "simulated_state.hpp"
#include "simulated_waking.hpp"

#include <array>
#include <vector>

namespace corewise::detail {

/// How a worker without work looks for some, as in the engine's searcher.cpp.
class simulated_search {
 public:
  struct found {
    task_index task = no_task;
    double cost_ns = 0; ///< of the way to the task
  };

  simulated_search(simulated_state& state, followed_policies& policies, simulated_waking& waking,
                   simulated_polling& polling);

  /// Notes that the worker begins to look for work.
  void search_begins(worker_id w) noexcept { handed_[w.value] = {}; }
  /// Looks for a task, in the worker's own queues as well.
  found look_around(worker_id w, steal_effort effort);

 private:
  bool anything_to_steal(worker_id w) const noexcept;
  found steal(worker_id w, steal_effort effort);
  task_index take_suited(worker_id w, task_class c, steal_effort effort);
  bool plan_look_in(group_id g);
  task_index take_far_class(worker_id w);

  simulated_state& state_;
  followed_policies& policies_;
  simulated_waking& waking_;
  simulated_polling& polling_;
  std::vector<std::array<bool, queued_classes>> handed_; // by worker; as in the engine's worker
};

} // namespace corewise::detail
