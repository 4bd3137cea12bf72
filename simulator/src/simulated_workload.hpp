#pragma once

#include "simulated_placing.hpp"
#include "simulated_state.hpp"

#include <corewise/simulator/random_stream.hpp>
#include <corewise/simulator/workload.hpp>

#include <optional>
#include <vector>

namespace corewise::detail {

/// The tasks that the workload brings, and what follows from a task's end.
class simulated_workload {
 public:
  simulated_workload(simulated_state& state, simulated_placing& placing);

  /// Brings the tasks that are there from the beginning, and plans the next ones.
  void begin();
  void arrive();
  void client_submits(std::uint32_t client);
  /// Submits a root from a thread outside that waits for the end of the tree.
  void submit_root();
  /// Does what follows from the end of a task that ran on worker w.
  void after(worker_id w, task_index t);

  /// Makes a task that comes from that CPU.
  task_index make_task(double service_ns, std::uint32_t cpu);
  /// Returns how long the tasks that are still in the system have been there, added up.
  wide still_in_system() const;

 private:
  void plan_arrival();
  void plan_client(std::uint32_t client);
  void first_tasks();
  std::uint32_t draw_cpu();
  std::uint32_t comes_from(simulated_task& task, std::uint32_t cpu);
  void submit_from(task_index t, std::uint32_t cpu);
  task_index make_child(worker_id w, task_index parent);
  void fork_children(worker_id w, task_index parent);
  void ask(worker_id w, task_index t);
  void begin_turn(worker_id w, task_index t);
  void end_turn(task_index t);
  void end_task(task_index t);
  void enters(simulated_task& task);

  simulated_state& state_;
  const workload& workload_;
  simulated_placing& placing_;
  std::optional<arrival_stream> arrivals_;
  std::optional<arrival> next_arrival_;
  random_stream services_;
  random_stream origins_;
  random_stream homes_;
  std::vector<random_stream> clients_;
  std::uint32_t pairs_left_ = 0; // of the pairs that the last root has spawned
};

} // namespace corewise::detail
