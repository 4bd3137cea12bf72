#include "simulation_state.hpp"

#include <cmath>

// What a worker does next: the order of its queues, as in the engine's worker.cpp and turn_plan.hpp.

namespace corewise::detail {

void simulation::turn(worker_id w) {
  acting_ = w.value;
  const task_index t = poll(w);
  if (t == no_task) return rest(w);
  found(w);
  begin_task(w, t, 0);
}

void simulation::begin_task(worker_id w, task_index t, double extra_ns) {
  seat& s = at(w);
  set_state(w, state::running);
  s.running = t;
  ++s.started;
  ++s.polls;
  const auto stamp = static_cast<std::uint64_t>(s.tick_began_ns);
  touch(boards_.slot(w), stamp);
  const simulated_task& task = tasks_[t];
  live_.waited(w, task.run_as, now_ns_ - task.submitted_ns);
  const double line =
      costs_.transfer[static_cast<std::size_t>(groups_.level_between(task.lines_at, group_of(w)))];
  const double coming = task.last == w.value ? 0 : line * workload_.lines; // 0: its lines are here
  const double before = costs_.run + coming + extra_ns + std::exchange(s.debt_ns, 0);
  show(w);
  plan(std::round(before + run_time(w, task)), {event::kind::task_ends, w.value, s.generation});
}

double simulation::run_time(worker_id w, const simulated_task& t) const noexcept {
  const locality_group& g = groups_[group_of(w)];
  double time = t.service_ns * full_capacity / machine_.real_capacity(g.id);
  if (t.node != nowhere && g.node && *g.node != t.node)
    time *=
        package_of_node_[t.node] == g.package ? costs_.slowdown.same_package : costs_.slowdown.cross_package;
  return time;
}

level simulation::level_of(const simulated_task& t, group_id ran_in) const noexcept {
  if (t.node == nowhere) return groups_.level_between(t.from, ran_in);
  const locality_group& g = groups_[ran_in];
  if (!g.node || *g.node == t.node) return level::same_node;
  return package_of_node_[t.node] == g.package ? level::same_package : level::cross_package;
}

void simulation::task_ends(worker_id w) {
  acting_ = w.value;
  seat& s = at(w);
  const task_index t = s.running;
  tasks_[t].last = w.value;
  measured_.ran(level_of(tasks_[t], group_of(w)), groups_[group_of(w)].kind);
  policies_.ran(group_of(w), static_cast<std::int64_t>(run_time(w, tasks_[t])), now_ns_);
  live_.ran(w);
  after(w, t);
  s.running = no_task;
  if (s.polls >= s.next_look) look_at_clock(w);
  turn(w);
}

void simulation::look_at_clock(worker_id w) {
  seat& s = at(w);
  const std::uint32_t budget = profile_.queues.budget;
  s.next_look = look_after(s.polls, budget);
  if (ends_tick(s.polls, budget, std::chrono::nanoseconds{now_ns_ - s.tick_began_ns})) end_tick(w);
}

void simulation::begin_tick(worker_id w) {
  seat& s = at(w);
  s.tick_began_ns = now_ns_;
  s.polls = 0;
  s.next_look = first_look_of(s.average_ns, profile_.queues.budget);
}

void simulation::end_tick(worker_id w) {
  seat& s = at(w);
  if (s.polls != 0)
    s.average_ns = next_average(s.average_ns, std::chrono::nanoseconds{now_ns_ - s.tick_began_ns}, s.polls);
  const auto& injection = profile_.injection;
  s.interval = interval_of(injection.target_latency, s.average_ns, injection.interval);
  s.until_shared = std::min(s.until_shared, s.interval);
  note_task_time(w);
  begin_tick(w);
  if (rules_.lifo_counts == lifo_count::in_a_tick) s.next_left = profile_.queues.lifo_cap;
}

void simulation::note_task_time(worker_id w) {
  seat& s = at(w);
  std::uint64_t& of_group = groups_books_[group_of(w).value].task_time_ns;
  const std::uint64_t told = of_group;
  s.task_time_ns = std::min(s.average_ns, told);
  if (worth_telling(told, s.average_ns)) of_group = s.average_ns;
  if (of_group > told && stealing_ && asleep_ != 0 && !searching(domain_of(w)))
    wake_farther(group_of(w)); // as `wake_ups::notify_longer`
  s.times_inbox = stealing_ && takes_oldest_first(profile_.queues.oldest_first, s.average_ns);
}

// --- the queues in their order

task_index simulation::poll(worker_id w) {
  seat& s = at(w);
  const bool& latency_waits =
      domains_[domain_of(w)].waiting_words[static_cast<std::size_t>(task_class::latency) - 1];
  if (latency_waits)
    if (const task_index t = poll_latency(w); t != no_task) return t;
  task_index t = no_task;
  if (--s.until_shared == 0) {
    s.until_shared = s.interval;
    t = poll_due(w);
  }
  bool from_slot = false;
  if (t == no_task && s.lifo != no_task) from_slot = (t = take_next(w)) != no_task;
  if (t == no_task && s.front == 0 && !s.forks.empty()) {
    t = s.forks.pop_back(tasks_);
    count_waiting(w, -1);
  }
  if (t == no_task && !s.ring.empty()) t = pop_ring(w);
  if (t == no_task) t = poll_shared(w, false);
  if (t == no_task) t = take_next(w);
  if (t == no_task) return latency_waits ? poll_latency(w) : no_task;
  if (!from_slot && rules_.lifo_counts != lifo_count::in_a_tick) s.next_left = profile_.queues.lifo_cap;
  return t;
}

task_index simulation::pop_ring(worker_id w) {
  seat& s = at(w);
  const task_index t = s.ring.pop_front(tasks_);
  if (t == no_task) return t;
  if (s.front != 0) --s.front;
  count_waiting(w, -1);
  return t;
}

task_index simulation::poll_latency(worker_id w) {
  seat& s = at(w);
  if (s.latency_left == 0) {
    s.latency_left = latency_row;
    return no_task;
  }
  const task_index t = take_class(domain_of(w), task_class::latency);
  if (t == no_task) return t;
  --s.latency_left;
  if (s.until_shared > 1) --s.until_shared;
  return t;
}

task_index simulation::take_class(std::uint32_t domain, task_class c) {
  const std::size_t of = static_cast<std::size_t>(c) - 1;
  const task_index t = domains_[domain].classes[of].pop_front(tasks_);
  if (t == no_task)
    domains_[domain].waiting_words[of] = false;
  else
    --in_classes_;
  return t;
}

task_index simulation::poll_due(worker_id w) {
  seat& s = at(w);
  if (s.now == state::running && s.background_turn &&
      background_is_due(s.started - s.background_at, s.interval))
    if (const task_index t = take_class(domain_of(w), task_class::background); t != no_task) {
      s.background_turn = false;
      s.background_at = s.started;
      s.until_shared = 1;
      return t;
    }
  s.background_turn = true;
  if (!s.forks.empty() && std::exchange(s.ring_turn, !s.ring_turn))
    if (const task_index t = pop_ring(w); t != no_task) return t;
  const task_index t = poll_shared(w, true);
  if (rules_.polls_backlog &&
      (!s.inbox.empty() || !groups_books_[injection_of_[group_of(w).value].value].injection.empty()))
    s.until_shared = look_at_backlog(s.until_shared, s.ring.size() + (s.lifo == no_task ? 0U : 1U) +
                                                         (s.forks.empty() ? 0U : 1U));
  return t;
}

task_index simulation::take_next(worker_id w) {
  seat& s = at(w);
  if (s.lifo == no_task || s.front != 0) return no_task;
  const bool only_overtaking = rules_.lifo_counts == lifo_count::overtaking;
  const bool counted = !only_overtaking || !s.ring.empty() || !s.forks.empty();
  if (s.next_left == 0 && counted) {
    if (only_overtaking) return no_task;
    count_slot(w, false);
    push(w, std::exchange(s.lifo, no_task));
    return no_task;
  }
  if (counted) --s.next_left;
  count_slot(w, false);
  return std::exchange(s.lifo, no_task);
}

task_index simulation::poll_shared(worker_id w, bool due) {
  seat& s = at(w);
  const bool injection_first = due && std::exchange(s.injection_first, !s.injection_first);
  if (injection_first)
    if (const task_index t = take_injected(w, group_of(w)); t != no_task) return t;
  if (const task_index t = take_inbox(w, due); t != no_task) return t;
  return injection_first ? no_task : take_injected(w, group_of(w));
}

task_index simulation::take_inbox(worker_id w, bool batch) {
  seat& s = at(w);
  if (s.times_inbox && !s.searching && s.ring.empty()) return take_oldest(w);
  if (s.inbox.empty()) return no_task;
  fetch(s.inbox_user, w.value, 1);
  const std::uint32_t most = batch ? with_room(share_of(w, s.inbox.size()) + 1, room(w)) : 1;
  task_row taken;
  while (taken.size() < most && !s.inbox.empty()) taken.push_back(tasks_, s.inbox.pop_front(tasks_));
  count_waiting(w, -static_cast<std::int32_t>(taken.size()));
  return keep(w, taken, 0);
}

/// Takes the task that came first of those that wait in the inboxes of the group. A line comes from each
/// other inbox with a task.
task_index simulation::take_oldest(worker_id w) {
  worker_id from = w;
  const auto waits = [&](worker_id o) { return !at(o).inbox.empty(); };
  const auto came = [&](worker_id o) { return tasks_[at(o).inbox.front()].came_ns; };
  const auto workers = layout_.of_group(group_of(w));
  const load_levels& levels = boards_.of(group_of(w)).levels;
  for (std::size_t i = 0; i != workers.size(); ++i) {
    const worker_id other = workers[i].id;
    if (other == w || levels.at(i) == 0 || !waits(other)) continue;
    at(w).debt_ns += costs_.transfer[static_cast<std::size_t>(level::same_group)];
    if (came(other) == 0) continue;
    if (!waits(from) || (came(from) != 0 && came(other) < came(from))) from = other;
  }
  seat& s = at(from);
  if (s.inbox.empty()) return no_task;
  fetch(s.inbox_user, w.value, 1);
  const task_index t = s.inbox.pop_front(tasks_);
  count_waiting(from, -1);
  if (from == w) return t;
  cool(boards_.slot(from));
  show(from);
  measured_.stolen(level::same_group, 1);
  live_.stolen(w, group_of(w), level::same_group, 1);
  return t;
}

task_index simulation::take_injected(worker_id w, group_id from) {
  group_books& books = groups_books_[injection_of_[from.value].value];
  task_row& queue = books.injection;
  if (queue.empty()) return no_task;
  fetch(books.injection_user, w.value, 2);
  const std::uint32_t most = with_room(share_of(w, queue.size()), room(w));
  task_row taken;
  while (taken.size() < most && !queue.empty()) taken.push_back(tasks_, queue.pop_front(tasks_));
  injected_ -= taken.size();
  return keep(w, taken, rules_.batch_in_front);
}

std::uint32_t simulation::share_of(worker_id w, std::uint32_t waiting) const noexcept {
  const bool of_all = profile_.injection.scope == injection_scope::engine;
  const auto workers = of_all ? static_cast<std::uint32_t>(layout_.size()) : active_in(group_of(w));
  return batch_of(waiting, workers, profile_.injection.batch);
}

std::uint32_t simulation::room(worker_id w) const noexcept {
  return room_of(ring_capacity_, seats_[w.value].ring.size());
}

/// Keeps taken tasks: the first is to run now, the rest go into the ring, `in_front` of them before the tasks
/// there.
task_index simulation::keep(worker_id w, task_row& taken, std::uint32_t in_front) {
  seat& s = at(w);
  const task_index first = taken.pop_front(tasks_);
  if (taken.empty()) return first;
  task_row front;
  while (!taken.empty() && front.size() < in_front) front.push_back(tasks_, taken.pop_front(tasks_));
  if (!front.empty()) s.front = front.size();
  while (!front.empty()) {
    s.ring.push_front(tasks_, front.pop_back(tasks_));
    count_waiting(w, 1);
  }
  while (!taken.empty()) store(w, taken.pop_front(tasks_));
  show(w);
  if (!s.searching) notify_pushed(w);
  return first;
}

} // namespace corewise::detail
