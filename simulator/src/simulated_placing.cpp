#include "simulation_state.hpp"

#include <corewise/policies/origin.hpp>

// How a task gets to a queue, as in the engine's submission.cpp, routing.hpp and pushing.cpp.

namespace corewise::detail {

placement_hint simulation::hint_of(const simulated_task& t) const noexcept {
  placement_hint hint;
  if (workload_.hinted && t.node != nowhere) hint.node = t.node;
  hint.run_as = t.run_as;
  return hint;
}

load_view simulation::view_for(std::uint64_t task_time_ns) const noexcept {
  load_view view = boards_.view();
  view.task_time_ns = task_time_ns;
  return view;
}

void simulation::submit_outside(task_index t, std::uint32_t cpu) {
  using maker = placing_decision::maker;
  outside_thread& from = outside_[place_of_cpu_[cpu]];
  const placement_hint hint = hint_of(tasks_[t]);
  const task_origin origin{tasks_[t].from, std::nullopt, cpu};
  const load_view view = view_for(groups_books_[origin.group.value].task_time_ns);
  const auto tell = [&](const placement& to, const placement_rng& rng, const placement_cursor& cursor,
                        maker by) {
    if (options_.on_placing) options_.on_placing({view, origin, hint, rng, cursor, cpu, to, by});
  };
  measured_.placed();
  if (hint.plain() && from.last.holds(cpu, view)) {
    const placement& last = from.last.take();
    tell(last, from.rng, from.cursor, maker::repeat);
    return put(t, last);
  }
  const placement_rng rng = from.rng;
  const placement_cursor cursor = from.cursor;
  const placement to = policies_.placing().place(view, origin, hint, from.rng, from.cursor);
  tell(to, rng, cursor, maker::place);
  if (hint.run_as != task_class::normal) return put_in_class(t, to.group);
  from.last.note(to, cpu);
  send(t, to);
}

void simulation::submit_on_worker(task_index t, worker_id w) {
  seat& s = at(w);
  const placement_hint hint = hint_of(tasks_[t]);
  const task_origin origin = origin_from_worker(layout_, w);
  const load_view view = view_for(s.task_time_ns);
  const placement_rng rng = s.rng;
  const placement_cursor cursor = s.cursor;
  const auto tell = [&](const placement& to, placing_decision::maker by) {
    if (options_.on_placing) options_.on_placing({view, origin, hint, rng, cursor, 0, to, by});
  };
  measured_.placed();
  s.debt_ns += costs_.submit;
  if (hint.plain() && hint.empty()) {
    const auto most = policies_.placing().max_load_kept_unasked(view, origin);
    if (most && view.load(boards_.slot(w)).total() <= *most) {
      tell({.worker = w, .group = origin.group}, placing_decision::maker::max_load_kept_unasked);
      return push_next(w, t);
    }
  }
  const placement to = policies_.placing().place(view, origin, hint, s.rng, s.cursor);
  tell(to, placing_decision::maker::place);
  if (hint.run_as != task_class::normal) return put_in_class(t, to.group);
  if (!to.injected && to.worker == w) return push_next(w, t);
  if (groups_[to.group].domain != domain_of(w)) live_.spilled(w);
  send(t, to);
}

void simulation::send(task_index t, const placement& to) {
  if (to.injected && injects_) {
    inject(to.group, t);
    return notify_pushed(to.worker);
  }
  worker_bits& spinning = boards_.of(to.group).spinning;
  const std::size_t place = boards_.place(to.worker);
  if (spinning.test(place)) spinning.claim(place); // so that the next submitter chooses another
  put(t, to);
}

void simulation::put(task_index t, const placement& to) {
  seat& s = at(to.worker);
  if (s.inbox.size() < inbox_capacity_) {
    fetch(s.inbox_user, acting_, 1);
    tasks_[t].came_ns = s.times_inbox ? now_ns_ : 0;
    s.inbox.push_back(tasks_, t);
    count_waiting(to.worker, 1);
    show(to.worker);
  } else {
    inject(to.group, t);
  }
  notify_pushed(to.worker);
}

void simulation::inject(group_id g, task_index t) {
  group_books& queue = groups_books_[injection_of_[g.value].value];
  fetch(queue.injection_user, acting_, 2);
  queue.injection.push_back(tasks_, t);
  ++injected_;
}

/// Charges for the lines of a queue that come from the worker that used them last: of an inbox the end where
/// tasks are put, of an injection queue its lock's as well.
void simulation::fetch(std::uint32_t& last_user, std::uint32_t user, double lines) noexcept {
  const std::uint32_t last = std::exchange(last_user, user);
  if (user == nowhere || last == user) return;
  const level from = last == nowhere
                         ? level::same_domain
                         : groups_.level_between(group_of(worker_id{last}), group_of(worker_id{user}));
  seats_[user].debt_ns += lines * costs_.transfer[static_cast<std::size_t>(from)];
}

void simulation::put_in_class(task_index t, group_id g) {
  const task_class c = tasks_[t].run_as;
  const std::uint32_t domain = groups_[g].domain;
  const std::size_t of = static_cast<std::size_t>(c) - 1;
  domains_[domain].classes[of].push_back(tasks_, t);
  domains_[domain].waiting_words[of] = true;
  ++in_classes_;
  if (asleep_ != 0) wake_for(domain, c);
  offer_class(domain, c, g);
}

/// Lets a spinning worker come upon the task: of the domain the worker that suits it best, or of the nearest
/// domain the worker that may take it.
void simulation::offer_class(std::uint32_t domain, task_class c, group_id first) {
  const domain_kinds& kinds = kinds_[domain];
  if (kinds.unequal) {
    const auto spins = [&](group_id g) { return spins_in(g); };
    const auto& by_speed = kinds.fastest_first;
    if (c == task_class::background) {
      const auto slowest = std::find_if(by_speed.rbegin(), by_speed.rend(), spins);
      if (slowest != by_speed.rend()) first = *slowest;
    } else {
      const auto fastest = std::ranges::find_if(by_speed, spins);
      if (fastest != by_speed.end()) first = *fastest;
    }
  }
  if (offer_in_domain(domain, first) || !stealing_) return;
  std::uint32_t asked = domain;
  for (const group_id g : groups_[first].steal_order) {
    if (groups_[g].domain == asked) continue;
    asked = groups_[g].domain;
    if (domains_[asked].spinners.empty() || !may_steal_class(g, domain)) continue;
    if (offer_in_domain(asked, g)) return;
  }
}

void simulation::wake_task(worker_id w, task_index t) {
  if (tasks_[t].run_as != task_class::normal) return put_in_class(t, group_of(w));
  return resumptions_return_ ? push_next(w, t) : send_back(t, w);
}

void simulation::yield(worker_id w, task_index t) {
  if (tasks_[t].run_as != task_class::normal) return put_in_class(t, group_of(w));
  return resumptions_return_ ? give_way(w, t) : send_back(t, w);
}

/// Places a task that goes on, where its policy does not bring it back to the worker that it ran on.
void simulation::send_back(task_index t, worker_id from) {
  const worker_id to = tasks_[t].last == nowhere ? from : worker_id{tasks_[t].last};
  send(t, {.worker = to, .group = group_of(to), .injected = !resumptions_return_});
}

void simulation::push_next(worker_id w, task_index t) {
  const auto& queues = profile_.queues;
  seat& s = at(w);
  if (queues.lifo_cap == 0) return push(w, t);
  const task_index evicted = std::exchange(s.lifo, t);
  s.lifo_put = s.started;
  ++s.lifo_puts;
  if (queues.lifo_age && stealing_) plan(*queues.lifo_age, {event::kind::slot_aged, w.value, s.lifo_puts});
  if (evicted == no_task) {
    count_slot(w, true);
    return show(w);
  }
  store(w, evicted);
  show(w);
  notify_pushed(w);
}

void simulation::push(worker_id w, task_index t) {
  store(w, t);
  show(w);
  notify_pushed(w);
}

void simulation::give_way(worker_id w, task_index t) {
  const bool alone = at(w).ring.empty();
  store(w, t);
  show(w);
  if (alone && at(w).lifo != no_task) notify_pushed(w);
}

void simulation::fork(worker_id w, task_index t) {
  if (tasks_[t].run_as != task_class::normal) return put_in_class(t, group_of(w));
  at(w).forks.push_back(tasks_, t);
  count_waiting(w, 1);
  show(w);
  notify_pushed(w);
}

/// Stores a task in the ring. When the ring is full its older half goes to the injection queue with the task.
void simulation::store(worker_id w, task_index t) {
  seat& s = at(w);
  if (s.ring.size() < ring_capacity_) {
    s.ring.push_back(tasks_, t);
    return count_waiting(w, 1);
  }
  for (std::uint32_t older = shed_of(ring_capacity_); older != 0; --older) {
    const task_index oldest = s.ring.pop_front(tasks_);
    s.front -= std::min(s.front, 1U);
    if (injects_) {
      count_waiting(w, -1);
      inject(group_of(w), oldest);
    } else {
      s.inbox.push_back(tasks_, oldest);
    }
  }
  if (injects_) return inject(group_of(w), t);
  s.inbox.push_back(tasks_, t);
  count_waiting(w, 1);
}

/// Wakes the worker that the rules choose, and lets a worker that is awake see the task.
void simulation::notify_pushed(worker_id w) {
  if (asleep_ != 0) wake_for(w);
  if (at(w).now == state::spinning && !at(w).look_planned) return plan_look(w);
  if (!stealing_) {
    if (injected(group_of(w)) != 0) offer_in_domain(domain_of(w), group_of(w));
    return;
  }
  offer_to_searchers(group_of(w));
}

/// Lets a spinning worker come upon the task: one of its domain, or the nearest one that may take so much.
void simulation::offer_to_searchers(group_id own) {
  if (offer_in_domain(groups_[own].domain, own)) return;
  if (listed_ == 0 || !anything_for_others()) return;
  std::uint32_t asked = groups_[own].domain;
  for (const group_id g : groups_[own].steal_order) {
    const std::uint32_t domain = groups_[g].domain;
    if (domain == asked) continue;
    asked = domain;
    if (domains_[domain].spinners.empty() || !may_steal(g, own)) continue;
    if (offer_in_domain(domain, g)) return;
  }
}

/// Lets spinning workers come upon the tasks that are left, whichever worker they were offered to before.
/// Called when a worker has found work.
void simulation::offer_rest() {
  if (!stealing_ || listed_ == 0 || waiting_ + injected_ + in_classes_ == 0) return;
  for (std::uint32_t domain = 0; domain < domains_.size(); ++domain) {
    if (waiting_in(domain) == 0) continue;
    const auto& groups = groups_.domains()[domain];
    for (const task_class c : {task_class::latency, task_class::background})
      if (class_waits(domain, c)) offer_class(domain, c, groups.front());
    const auto waits = std::ranges::find_if(groups, [&](group_id g) { return work_in(g); });
    if (waits != groups.end()) offer_to_searchers(*waits);
  }
}

/// Plans a look of the first worker in the group, else in the domain, that spins with no look planned.
/// Returns false if there is none.
bool simulation::offer_in_domain(std::uint32_t domain, group_id first) {
  std::vector<std::uint32_t>& spinners = domains_[domain].spinners;
  std::erase_if(spinners, [&](std::uint32_t w) {
    seat& s = seats_[w];
    s.listed = s.now == state::spinning && !s.look_planned;
    if (!s.listed) --listed_;
    return !s.listed;
  });
  if (spinners.empty()) return false;
  auto chosen =
      std::ranges::find_if(spinners, [&](std::uint32_t w) { return group_of(worker_id{w}) == first; });
  if (chosen == spinners.end()) chosen = spinners.begin();
  plan_look(worker_id{*chosen});
  return true;
}

/// Moves a task that no worker has taken from the slot for so long to the inbox, as the engine's supervisor
/// does. `puts`: how many tasks had been put into the slot when this one was.
void simulation::slot_aged(worker_id w, std::uint32_t puts) {
  seat& s = at(w);
  if (s.lifo == no_task || s.lifo_puts != puts) return;
  if (s.started != s.lifo_put) { // the worker gets on: once more
    s.lifo_put = s.started;
    return plan(*profile_.queues.lifo_age, {event::kind::slot_aged, w.value, puts});
  }
  const task_index t = std::exchange(s.lifo, no_task);
  count_slot(w, false);
  put(t, {.worker = w, .group = group_of(w)});
}

} // namespace corewise::detail
