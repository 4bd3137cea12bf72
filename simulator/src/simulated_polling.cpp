#include "simulated_polling.hpp"

#include <algorithm>

namespace corewise::detail {

simulated_polling::simulated_polling(simulated_state& state, simulated_waking& waking)
    : state_(state),
      queues_(state.queues),
      waking_(waking),
      turns_(state.setup.layout.size()) {
  for (queue_turns& s : turns_) s.interval = state.setup.profile.injection.interval.min;
}

void simulated_polling::work_begins(worker_id w) noexcept {
  queue_turns& s = of(w);
  s.next_left = state_.setup.profile.queues.lifo_cap;
  // A background task still waits for its turn.
  if (!queues_.class_waits(state_.setup.domain_of(w), task_class::background)) s.until_shared = s.interval;
}

void simulated_polling::tick_ends(worker_id w, std::uint64_t average_ns) noexcept {
  queue_turns& s = of(w);
  const auto& injection = state_.setup.profile.injection;
  s.interval = interval_of(injection.target_latency, average_ns, injection.interval);
  s.until_shared = std::min(s.until_shared, s.interval);
  if (state_.setup.rules.lifo_counts == lifo_count::in_a_tick)
    s.next_left = state_.setup.profile.queues.lifo_cap;
}

// --- the queues in their order

task_index simulated_polling::poll(worker_id w) {
  queue_turns& s = of(w);
  const worker_queues& own = queues_.of(w);
  const std::uint32_t domain = state_.setup.domain_of(w);
  if (queues_.waiting_word(domain, task_class::latency))
    if (const task_index t = poll_latency(w); t != no_task) return t;
  task_index t = no_task;
  if (--s.until_shared == 0) {
    s.until_shared = s.interval;
    t = poll_due(w);
  }
  bool from_slot = false;
  if (t == no_task && own.lifo != no_task) from_slot = (t = take_next(w)) != no_task;
  if (t == no_task && own.front == 0 && !own.forks.empty()) t = queues_.pop_fork(w);
  if (t == no_task && !own.ring.empty()) t = queues_.pop_ring(w);
  if (t == no_task) t = poll_shared(w, false);
  if (t == no_task) t = take_next(w);
  if (t == no_task) return queues_.waiting_word(domain, task_class::latency) ? poll_latency(w) : no_task;
  if (!from_slot && state_.setup.rules.lifo_counts != lifo_count::in_a_tick)
    s.next_left = state_.setup.profile.queues.lifo_cap;
  return t;
}

task_index simulated_polling::poll_latency(worker_id w) {
  queue_turns& s = of(w);
  if (s.latency_left == 0) {
    s.latency_left = latency_row;
    return no_task;
  }
  const task_index t = queues_.take_class(state_.setup.domain_of(w), task_class::latency);
  if (t == no_task) return t;
  --s.latency_left;
  if (s.until_shared > 1) --s.until_shared;
  return t;
}

task_index simulated_polling::poll_due(worker_id w) {
  queue_turns& s = of(w);
  const worker_queues& own = queues_.of(w);
  if (state_.workers.of(w) == worker_state::running && s.background_turn &&
      background_is_due(own.started - s.background_at, s.interval))
    if (const task_index t = queues_.take_class(state_.setup.domain_of(w), task_class::background);
        t != no_task) {
      s.background_turn = false;
      s.background_at = own.started;
      s.until_shared = 1;
      return t;
    }
  s.background_turn = true;
  if (!own.forks.empty() && std::exchange(s.ring_turn, !s.ring_turn))
    if (const task_index t = queues_.pop_ring(w); t != no_task) return t;
  const task_index t = poll_shared(w, true);
  if (state_.setup.rules.polls_backlog &&
      (!own.inbox.empty() || queues_.injected(state_.setup.group_of(w)) != 0))
    s.until_shared = look_at_backlog(s.until_shared, own.ring.size() + (own.lifo == no_task ? 0U : 1U) +
                                                         (own.forks.empty() ? 0U : 1U));
  return t;
}

task_index simulated_polling::take_next(worker_id w) {
  queue_turns& s = of(w);
  const worker_queues& own = queues_.of(w);
  if (own.lifo == no_task || own.front != 0) return no_task;
  const bool only_overtaking = state_.setup.rules.lifo_counts == lifo_count::overtaking;
  const bool counted = !only_overtaking || !own.ring.empty() || !own.forks.empty();
  if (s.next_left == 0 && counted) {
    if (only_overtaking) return no_task;
    queues_.store(w, queues_.empty_slot(w));
    queues_.show(w);
    waking_.notify_pushed(w);
    return no_task;
  }
  if (counted) --s.next_left;
  return queues_.empty_slot(w);
}

task_index simulated_polling::poll_shared(worker_id w, bool due) {
  queue_turns& s = of(w);
  const group_id own = state_.setup.group_of(w);
  const bool injection_first = due && std::exchange(s.injection_first, !s.injection_first);
  if (injection_first)
    if (const task_index t = take_injected(w, own); t != no_task) return t;
  if (const task_index t = take_inbox(w, due); t != no_task) return t;
  return injection_first ? no_task : take_injected(w, own);
}

task_index simulated_polling::take_inbox(worker_id w, bool batch) {
  const worker_queues& own = queues_.of(w);
  if (own.times_inbox && !state_.workers.searches(w) && own.ring.empty()) return take_oldest(w);
  if (own.inbox.empty()) return no_task;
  const std::uint32_t waiting = own.inbox.size();
  const std::uint32_t most = batch && waiting != 1 ? with_room(share_of(w, waiting) + 1, room(w)) : 1;
  task_row taken = queues_.take_from_inbox(w, most);
  return keep(w, taken, 0);
}

/// Takes the task that came first of those that wait in the inboxes of the group. A line comes from each
/// other inbox with a task.
task_index simulated_polling::take_oldest(worker_id w) {
  const group_id group = state_.setup.group_of(w);
  const auto waits = [&](worker_id o) { return !queues_.of(o).inbox.empty(); };
  const auto came = [&](worker_id o) { return state_.tasks[queues_.of(o).inbox.front()].came_ns; };
  const auto workers = state_.setup.layout.of_group(group);
  const load_levels& levels = state_.boards.of(group).levels;
  worker_id from = w;
  for (std::size_t i = 0; i != workers.size(); ++i) {
    const worker_id other = workers[i].id;
    if (other == w || levels.at(i) == 0 || !waits(other)) continue;
    state_.debts.charge(w, state_.setup.costs.transfer[static_cast<std::size_t>(level::same_group)]);
    if (came(other) == 0) continue;
    if (!waits(from) || (came(from) != 0 && came(other) < came(from))) from = other;
  }
  if (!waits(from)) return no_task;
  task_row taken = queues_.take_from_inbox(from, 1);
  if (from != w) note_stolen(w, from, level::same_group, 1);
  return taken.front();
}

task_index simulated_polling::take_injected(worker_id w, group_id from) {
  const std::uint32_t waiting = queues_.injected(from);
  if (waiting == 0) return no_task;
  const std::uint32_t most = waiting == 1 ? 1 : with_room(share_of(w, waiting), room(w));
  task_row taken = queues_.take_injected(from, most);
  return keep(w, taken, state_.setup.rules.batch_in_front);
}

task_index simulated_polling::steal_from(worker_id thief, worker_id victim, level distance) {
  task_row stolen = queues_.rob(victim, with_room(state_.setup.profile.steal.batch_max, room(thief)));
  if (stolen.empty()) return no_task;
  note_stolen(thief, victim, distance, stolen.size());
  return keep(thief, stolen, 0);
}

void simulated_polling::note_stolen(worker_id thief, worker_id victim, level distance,
                                    std::uint32_t tasks) noexcept {
  cool(state_.boards.entry(victim));
  queues_.show(victim);
  state_.measured.stolen(distance, tasks);
  state_.live.stolen(thief, state_.setup.group_of(victim), distance, tasks);
}

std::uint32_t simulated_polling::share_of(worker_id w, std::uint32_t waiting) const noexcept {
  const run_setup& setup = state_.setup;
  const bool of_all = setup.profile.injection.scope == injection_scope::engine;
  const std::size_t workers = of_all ? setup.layout.size() : setup.layout.of_group(setup.group_of(w)).size();
  return batch_of(waiting, static_cast<std::uint32_t>(workers), setup.profile.injection.batch);
}

std::uint32_t simulated_polling::room(worker_id w) const noexcept {
  return room_of(state_.setup.ring_capacity, queues_.of(w).ring.size());
}

/// Keeps taken tasks: the first is to run now, the rest go into the ring, `in_front` of them before the tasks
/// there.
task_index simulated_polling::keep(worker_id w, task_row& taken, std::uint32_t in_front) {
  const task_index first = taken.pop_front(state_.tasks);
  if (taken.empty()) return first;
  queues_.put_in_front(w, taken, in_front);
  while (!taken.empty()) queues_.store(w, taken.pop_front(state_.tasks));
  queues_.show(w);
  if (!state_.workers.searches(w)) waking_.notify_pushed(w);
  return first;
}

} // namespace corewise::detail
