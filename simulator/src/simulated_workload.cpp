#include "simulation_state.hpp"

#include <fmt/format.h>

// What the workload brings, and what follows from a task's end.

namespace corewise::detail {

void simulation::begin() {
  using kind = workload::kind;
  switch (workload_.shape) {
  case kind::poisson:
  case kind::mmpp:
  case kind::trace:
  case kind::fork_join:
    arrivals_.emplace(workload_, machine_.capacity(), options_.seed);
    return plan_arrival();
  case kind::closed:
    for (std::uint32_t c = 0; c < workload_.clients; ++c) {
      clients_.emplace_back(options_.seed, first_client_stream + c);
      const double thinks = workload_.think.draw(clients_.back());
      plan(thinks, {event::kind::client_submits, c, 0});
    }
    return;
  case kind::ping_pong: return workload_.spawned ? submit_root() : first_tasks();
  case kind::yield_ring: return first_tasks();
  }
}

void simulation::first_tasks() {
  const bool pairs = workload_.shape == workload::kind::ping_pong;
  const std::uint32_t count = pairs ? workload_.pairs * 2 : workload_.tasks;
  std::vector<task_index> all;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t cpu = draw_cpu();
    const task_index t = make_task(workload_.service.draw(services_), cpu);
    all.push_back(t);
    if (pairs && i % 2 == 1) {
      tasks_[t].owner = all[i - 1];
      tasks_[all[i - 1]].owner = t;
      continue; // its partner wakes it
    }
    submit_from(t, cpu);
  }
}

void simulation::plan_arrival() {
  next_arrival_ = arrivals_->next();
  if (next_arrival_) events_.push(std::max(next_arrival_->time_ns, now_ns_), {event::kind::arrival, 0, 0});
}

void simulation::arrive() {
  const arrival a = *next_arrival_;
  plan_arrival();
  const std::uint32_t cpu = draw_cpu();
  const task_index t = make_task(a.service_ns, cpu);
  simulated_task& task = tasks_[t];
  if (a.node) {
    if (*a.node >= cpus_of_node_.size())
      throw workload_error(fmt::format("{}: node {}: the machine has {} memory nodes, numbered from 0",
                                       workload_.file.string(), *a.node, cpus_of_node_.size()));
    task.node = *a.node;
  }
  if (a.run_as) task.run_as = *a.run_as;
  if (workload_.shape == workload::kind::fork_join) task.depth = workload_.depth;
  submit_from(t, cpu);
}

void simulation::client_submits(std::uint32_t client) {
  const std::uint32_t cpu =
      workload_.submitted == workload::from::cpu ? draw_cpu() : cpus_[client % cpus_.size()];
  const task_index t = make_task(workload_.service.draw(clients_[client]), cpu);
  tasks_[t].owner = client;
  submit_from(t, cpu);
}

/// Submits a root from a thread outside that waits for the end of the tree.
void simulation::submit_root() {
  const std::uint32_t cpu = draw_cpu();
  const task_index root = make_task(workload_.service.draw(services_), cpu);
  tasks_[root].depth = spawns;
  submit_from(root, cpu);
}

std::uint32_t simulation::draw_cpu() {
  if (workload_.submitted == workload::from::cpu) return workload_.from_cpu;
  return cpus_[origins_.below(static_cast<std::uint32_t>(cpus_.size()))];
}

task_index simulation::make_task(double service_ns, std::uint32_t cpu) {
  const task_index t = tasks_.make();
  simulated_task& task = tasks_[t];
  task.service_ns = service_ns;
  task.run_as = workload_.run_as;
  task.from = task.lines_at = *groups_.group_of_cpu(cpu);
  switch (workload_.homes) {
  case workload::data::none: break;
  case workload::data::submitter: task.node = groups_[task.from].node.value_or(nowhere); break;
  case workload::data::random:
    task.node = homes_of_data_[homes_.below(static_cast<std::uint32_t>(homes_of_data_.size()))];
    break;
  case workload::data::node: task.node = workload_.data_node; break;
  }
  return t;
}

/// Returns the CPU that a task comes from: with `near-data` one of its data's node, in place of `cpu`.
std::uint32_t simulation::comes_from(task_index t, std::uint32_t cpu) {
  simulated_task& task = tasks_[t];
  if (!workload_.near_data || task.node == nowhere || cpus_of_node_[task.node].empty()) return cpu;
  const auto& near = cpus_of_node_[task.node];
  cpu = near[origins_.below(static_cast<std::uint32_t>(near.size()))];
  task.from = task.lines_at = *groups_.group_of_cpu(cpu);
  return cpu;
}

/// Submits from a thread outside, or from a worker that is at work, as if one of its tasks had submitted the
/// task.
void simulation::submit_from(task_index t, std::uint32_t cpu) {
  cpu = comes_from(t, cpu);
  tasks_[t].submitted_ns = now_ns_;
  measured_.enters(now_ns_);
  if (workload_.submitted != workload::from::worker) return submit_outside(t, cpu);
  constexpr int tries = 8; // to find a worker that is at work
  for (int i = 0; i < tries; ++i) {
    const worker_id w{origins_.below(static_cast<std::uint32_t>(layout_.size()))};
    if (at(w).now != state::running) continue;
    tasks_[t].from = tasks_[t].lines_at = group_of(w);
    tasks_[t].last = w.value;
    return submit_on_worker(t, w);
  }
  submit_outside(t, cpu);
}

/// Makes a task that the running task of worker w begins.
task_index simulation::make_child(worker_id w, task_index parent) {
  const task_index child = tasks_.make();
  simulated_task& c = tasks_[child];
  const simulated_task& p = tasks_[parent];
  c.service_ns = workload_.service.draw(services_);
  c.submitted_ns = now_ns_;
  c.node = p.node;
  c.from = p.from;
  c.lines_at = group_of(w);
  c.run_as = p.run_as;
  c.last = w.value;
  c.depth = p.depth - 1;
  c.owner = parent;
  measured_.enters(now_ns_);
  return child;
}

void simulation::fork_children(worker_id w, task_index parent) {
  tasks_[parent].waits_for = workload_.fanout;
  for (std::uint32_t i = 0; i < workload_.fanout; ++i) {
    const task_index child = make_child(w, parent);
    tasks_[child].measured = false;
    fork(w, child);
  }
}

/// Runs a task of spawned pairs: the root begins the tasks that ask; each of these begins a task that
/// answers, waits, and ends.
void simulation::ask(worker_id w, task_index t) {
  switch (tasks_[t].depth) {
  case spawns:
    pairs_left_ = workload_.pairs;
    for (std::uint32_t i = 0; i < workload_.pairs; ++i) submit_on_worker(make_child(w, t), w);
    return end_task(t);
  case asks:
    submit_on_worker(make_child(w, t), w);
    end_turn(t);
    tasks_[t].depth = has_asked;
    return;
  case answers: {
    const task_index asker = tasks_[t].owner;
    end_task(t);
    begin_turn(w, asker);
    return wake_task(w, asker);
  }
  default:
    end_task(t);
    if (--pairs_left_ == 0) events_.push(now_ns_, {event::kind::root_comes, 0, 0});
  }
}

/// Ends a task. A parent whose last child this was ends with it.
void simulation::end_task(task_index t) {
  for (;;) {
    const simulated_task& task = tasks_[t];
    measured_.leaves(now_ns_, task.submitted_ns);
    measured_.ended(now_ns_, static_cast<double>(now_ns_ - task.submitted_ns),
                    workload_.shape == workload::kind::fork_join ? 0 : task.service_ns, task.measured);
    const std::uint32_t parent = workload_.shape == workload::kind::fork_join ? task.owner : nowhere;
    tasks_.end(t);
    if (parent == nowhere || --tasks_[parent].waits_for != 0) return;
    t = parent;
  }
}

/// Ends the turn of a task that goes on later.
void simulation::end_turn(task_index t) {
  const simulated_task& task = tasks_[t];
  measured_.leaves(now_ns_, task.submitted_ns);
  measured_.ended(now_ns_, static_cast<double>(now_ns_ - task.submitted_ns), task.service_ns, true);
}

/// Begins a turn of a task that goes on; the running task of worker w wakes it.
void simulation::begin_turn(worker_id w, task_index t) {
  simulated_task& task = tasks_[t];
  task.submitted_ns = now_ns_;
  task.service_ns = workload_.service.draw(services_);
  task.lines_at = group_of(w);
  measured_.enters(now_ns_);
}

void simulation::after(worker_id w, task_index t) {
  using kind = workload::kind;
  simulated_task& task = tasks_[t];
  switch (workload_.shape) {
  case kind::poisson:
  case kind::mmpp:
  case kind::trace: return end_task(t);
  case kind::closed: {
    const std::uint32_t client = task.owner;
    end_task(t);
    const double thinks = workload_.think.draw(clients_[client]);
    return plan(thinks, {event::kind::client_submits, client, 0});
  }
  case kind::fork_join:
    if (task.depth == 0 || workload_.fanout == 0) return end_task(t);
    return fork_children(w, t);
  case kind::ping_pong: {
    if (workload_.spawned) return ask(w, t);
    const task_index partner = task.owner;
    end_turn(t);
    begin_turn(w, partner);
    return wake_task(w, partner);
  }
  case kind::yield_ring:
    end_turn(t);
    begin_turn(w, t);
    return yield(w, t);
  }
}

} // namespace corewise::detail
