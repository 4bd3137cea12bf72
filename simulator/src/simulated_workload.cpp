#include "simulated_workload.hpp"

#include "stream_names.hpp"

#include <fmt/format.h>

#include <set>

namespace corewise::detail {

simulated_workload::simulated_workload(simulated_state& state, simulated_placing& placing)
    : state_(state),
      workload_(state.setup.workload),
      placing_(placing),
      services_(state.setup.options.seed, services_stream),
      origins_(state.setup.options.seed, origins_stream),
      homes_(state.setup.options.seed, homes_stream) {}

void simulated_workload::begin() {
  using kind = workload::kind;
  switch (workload_.shape) {
  case kind::poisson:
  case kind::mmpp:
  case kind::trace:
  case kind::fork_join:
    arrivals_.emplace(workload_, state_.setup.machine.capacity(), state_.setup.options.seed);
    return plan_arrival();
  case kind::closed:
    for (std::uint32_t c = 0; c < workload_.clients; ++c) {
      clients_.emplace_back(state_.setup.options.seed, first_client_stream + c);
      plan_client(c);
    }
    return;
  case kind::ping_pong: return workload_.spawned ? submit_root() : first_tasks();
  case kind::yield_ring: return first_tasks();
  }
}

void simulated_workload::first_tasks() {
  const bool pairs = workload_.shape == workload::kind::ping_pong;
  const std::uint32_t count = pairs ? workload_.pairs * 2 : workload_.tasks;
  std::vector<task_index> all;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t cpu = draw_cpu();
    const task_index t = make_task(workload_.service.draw(services_), cpu);
    all.push_back(t);
    if (pairs && i % 2 == 1) {
      state_.tasks[t].owner = all[i - 1];
      state_.tasks[all[i - 1]].owner = t;
      continue; // its partner wakes it
    }
    submit_from(t, cpu);
  }
}

void simulated_workload::plan_arrival() {
  next_arrival_ = arrivals_->next();
  if (next_arrival_) state_.clock.plan_at(next_arrival_->time_ns, {planned_event::kind::arrival, 0, 0});
}

/// Lets a client think, and submit its next task.
void simulated_workload::plan_client(std::uint32_t client) {
  const double thinks = workload_.think.draw(clients_[client]);
  state_.clock.plan(thinks, {planned_event::kind::client_submits, client, 0});
}

void simulated_workload::arrive() {
  const arrival a = *next_arrival_;
  plan_arrival();
  const std::uint32_t cpu = draw_cpu();
  const task_index t = make_task(a.service_ns, cpu);
  simulated_task& task = state_.tasks[t];
  if (a.node) {
    if (*a.node >= state_.places.nodes())
      throw workload_error(fmt::format("{}: node {}: the machine has {} memory nodes, numbered from 0",
                                       workload_.file.string(), *a.node, state_.places.nodes()));
    task.node = *a.node;
  }
  if (a.run_as) task.run_as = *a.run_as;
  if (workload_.shape == workload::kind::fork_join) task.depth = workload_.depth;
  submit_from(t, cpu);
}

void simulated_workload::client_submits(std::uint32_t client) {
  const auto& cpus = state_.places.cpus();
  const bool on_its_own = workload_.submitted != workload::from::cpu;
  const std::uint32_t cpu = on_its_own ? cpus[client % cpus.size()] : workload_.from_cpu;
  const task_index t = make_task(workload_.service.draw(clients_[client]), cpu);
  state_.tasks[t].owner = client;
  submit_from(t, cpu);
}

void simulated_workload::submit_root() {
  const std::uint32_t cpu = draw_cpu();
  const task_index root = make_task(workload_.service.draw(services_), cpu);
  state_.tasks[root].depth = spawns;
  submit_from(root, cpu);
}

std::uint32_t simulated_workload::draw_cpu() {
  if (workload_.submitted == workload::from::cpu) return workload_.from_cpu;
  const auto& cpus = state_.places.cpus();
  return cpus[origins_.below(static_cast<std::uint32_t>(cpus.size()))];
}

task_index simulated_workload::make_task(double service_ns, std::uint32_t cpu) {
  const task_index t = state_.tasks.make();
  simulated_task& task = state_.tasks[t];
  task.service_ns = service_ns;
  task.run_as = workload_.run_as;
  task.from = task.lines_at = *state_.setup.groups.group_of_cpu(cpu);
  switch (workload_.homes) {
  case workload::data::none: break;
  case workload::data::submitter: task.node = state_.setup.groups[task.from].node.value_or(nowhere); break;
  case workload::data::random: {
    const auto& homes = state_.places.homes();
    task.node = homes[homes_.below(static_cast<std::uint32_t>(homes.size()))];
    break;
  }
  case workload::data::node: task.node = workload_.data_node; break;
  }
  return t;
}

/// Returns the CPU that a task comes from: with `near-data` one of its data's node, in place of `cpu`.
std::uint32_t simulated_workload::comes_from(simulated_task& task, std::uint32_t cpu) {
  if (!workload_.near_data || task.node == nowhere) return cpu;
  const auto& near = state_.places.cpus_of_node(task.node);
  if (near.empty()) return cpu;
  cpu = near[origins_.below(static_cast<std::uint32_t>(near.size()))];
  task.from = task.lines_at = *state_.setup.groups.group_of_cpu(cpu);
  return cpu;
}

/// Submits from a thread outside, or from a worker that is at work, as if one of its tasks had submitted the
/// task.
void simulated_workload::submit_from(task_index t, std::uint32_t cpu) {
  simulated_task& task = state_.tasks[t];
  cpu = comes_from(task, cpu);
  enters(task);
  if (workload_.submitted != workload::from::worker) return placing_.submit_outside(t, cpu);
  constexpr int tries = 8; // to find a worker that is at work
  for (int i = 0; i < tries; ++i) {
    const worker_id w{origins_.below(static_cast<std::uint32_t>(state_.setup.layout.size()))};
    if (state_.workers.of(w) != worker_state::running) continue;
    task.from = task.lines_at = state_.setup.group_of(w);
    task.last = w.value;
    return placing_.submit_on_worker(t, w);
  }
  placing_.submit_outside(t, cpu);
}

/// Makes a task that the running task of worker w begins.
task_index simulated_workload::make_child(worker_id w, task_index parent) {
  const task_index child = state_.tasks.make();
  simulated_task& c = state_.tasks[child];
  const simulated_task& p = state_.tasks[parent];
  c.service_ns = workload_.service.draw(services_);
  c.node = p.node;
  c.from = p.from;
  c.lines_at = state_.setup.group_of(w);
  c.run_as = p.run_as;
  c.last = w.value;
  c.depth = p.depth - 1;
  c.owner = parent;
  enters(c);
  return child;
}

void simulated_workload::fork_children(worker_id w, task_index parent) {
  state_.tasks[parent].waits_for = workload_.fanout;
  for (std::uint32_t i = 0; i < workload_.fanout; ++i) {
    const task_index child = make_child(w, parent);
    state_.tasks[child].measured = false;
    placing_.fork(child, w);
  }
}

/// Runs a task of spawned pairs: the root begins the tasks that ask; each of these begins a task that
/// answers, waits, and ends.
void simulated_workload::ask(worker_id w, task_index t) {
  switch (state_.tasks[t].depth) {
  case spawns:
    pairs_left_ = workload_.pairs;
    for (std::uint32_t i = 0; i < workload_.pairs; ++i) placing_.submit_on_worker(make_child(w, t), w);
    return end_task(t);
  case asks:
    placing_.submit_on_worker(make_child(w, t), w);
    end_turn(t);
    state_.tasks[t].depth = has_asked;
    return;
  case answers: {
    const task_index asker = state_.tasks[t].owner;
    end_task(t);
    begin_turn(w, asker);
    return placing_.wake_task(asker, w);
  }
  default:
    end_task(t);
    if (--pairs_left_ == 0) state_.clock.plan_now({planned_event::kind::root_comes, 0, 0});
  }
}

/// Ends a task. A parent whose last child this was ends with it.
void simulated_workload::end_task(task_index t) {
  const bool trees = workload_.shape == workload::kind::fork_join;
  for (;;) {
    const simulated_task& task = state_.tasks[t];
    state_.measured.leaves(state_.clock.now_ns(), task.submitted_ns, trees ? 0 : task.service_ns,
                           task.measured);
    const std::uint32_t parent = trees ? task.owner : nowhere;
    state_.tasks.end(t);
    if (parent == nowhere || --state_.tasks[parent].waits_for != 0) return;
    t = parent;
  }
}

/// Ends the turn of a task that goes on later.
void simulated_workload::end_turn(task_index t) {
  const simulated_task& task = state_.tasks[t];
  state_.measured.leaves(state_.clock.now_ns(), task.submitted_ns, task.service_ns, true);
}

/// Begins a turn of a task that goes on; the running task of worker w wakes it.
void simulated_workload::begin_turn(worker_id w, task_index t) {
  simulated_task& task = state_.tasks[t];
  task.service_ns = workload_.service.draw(services_);
  task.lines_at = state_.setup.group_of(w);
  enters(task);
}

/// Counts a task that comes into the system.
void simulated_workload::enters(simulated_task& task) {
  task.submitted_ns = state_.clock.now_ns();
  state_.measured.enters(task.submitted_ns);
}

void simulated_workload::after(worker_id w, task_index t) {
  using kind = workload::kind;
  simulated_task& task = state_.tasks[t];
  switch (workload_.shape) {
  case kind::poisson:
  case kind::mmpp:
  case kind::trace: return end_task(t);
  case kind::closed: {
    const std::uint32_t client = task.owner;
    end_task(t);
    return plan_client(client);
  }
  case kind::fork_join:
    if (task.depth == 0 || workload_.fanout == 0) return end_task(t);
    return fork_children(w, t);
  case kind::ping_pong: {
    if (workload_.spawned) return ask(w, t);
    const task_index partner = task.owner;
    end_turn(t);
    begin_turn(w, partner);
    return placing_.wake_task(partner, w);
  }
  case kind::yield_ring:
    end_turn(t);
    begin_turn(w, t);
    return placing_.yield(t, w);
  }
}

wide simulated_workload::still_in_system() const {
  wide sum = 0;
  const auto add = [&](task_index t) {
    sum += static_cast<wide>(state_.clock.now_ns() - state_.tasks[t].submitted_ns);
  };
  std::set<task_index> parents;
  state_.queues.for_each([&](task_index t) {
    add(t);
    if (workload_.shape != workload::kind::fork_join) return;
    for (task_index p = state_.tasks[t].owner; p != nowhere && parents.insert(p).second;
         p = state_.tasks[p].owner)
      add(p);
  });
  return sum;
}

} // namespace corewise::detail
