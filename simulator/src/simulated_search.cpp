#include "simulation_state.hpp"

// How a worker without work looks for some, sleeps and is woken, as in the engine's searcher.cpp and
// idle.cpp.

namespace corewise::detail {

/// Lets a worker with nothing to do look for work elsewhere for a while, if it may, and then sleep.
void simulation::rest(worker_id w) {
  seat& s = at(w);
  if (s.now == state::running) end_tick(w);
  if (stealing_ && !s.searching) {
    domain_books& domain = domains_[domain_of(w)];
    if (domain.searching >= domain.searchers_max) return park(w);
    ++domain.searching;
    s.searching = true;
  }
  set_state(w, state::spinning);
  s.handed = {};
  show(w);
  boards_.of_worker(w).spinning.set(boards_.place(w));
  look(w, steal_effort::usual, false);
  if (s.now != state::spinning) return;
  if (profile_.idle.spin.count() == 0) return look(w, steal_effort::thorough, true);
  plan(profile_.idle.spin, {event::kind::spun, w.value, s.generation});
}

void simulation::look(worker_id w, steal_effort effort, bool time_is_up) {
  acting_ = w.value;
  seat& s = at(w);
  s.look_planned = false;
  double cost_ns = 0;
  const task_index t = look_around(w, effort, cost_ns);
  if (t == no_task && !time_is_up) {
    if (!std::exchange(s.listed, true)) {
      domains_[domain_of(w)].spinners.push_back(w.value);
      ++listed_;
    }
    return;
  }
  (void)boards_.of_worker(w).spinning.claim(boards_.place(w));
  if (t == no_task) return park(w);
  found(w);
  begin_task(w, t, cost_ns);
}

void simulation::plan_look(worker_id w) {
  if (!std::exchange(at(w).look_planned, true))
    events_.push(now_ns_, {event::kind::look, w.value, at(w).generation});
}

/// Notes that a worker has a task; it may have been idle.
void simulation::found(worker_id w) {
  seat& s = at(w);
  if (s.now != state::running) {
    begin_tick(w);
    note_task_time(w);
    s.next_left = profile_.queues.lifo_cap;
    // A background task still waits for its turn.
    if (!class_waits(domain_of(w), task_class::background)) s.until_shared = s.interval;
    set_state(w, state::running);
  }
  if (!std::exchange(s.searching, false)) return;
  const bool last = --domains_[domain_of(w)].searching == 0;
  if ((last || !stealing_) && asleep_ != 0) wake_for_rest(w);
  offer_rest();
}

void simulation::park(worker_id w) {
  seat& s = at(w);
  const group_id g = group_of(w);
  bool last = true;
  if (std::exchange(s.searching, false)) last = --domains_[domain_of(w)].searching == 0;
  if (sees_work(w, last)) {
    // The worker goes on as a woken one, after another round.
    ++domains_[domain_of(w)].searching;
    s.searching = true;
    set_state(w, state::waking);
    show(w);
    return plan(costs_.steal[0] + 1, {event::kind::woken, w.value, s.generation});
  }
  set_state(w, state::asleep);
  show(w);
  boards_.of(g).parked.set(boards_.place(w));
  ++asleep_;
  ++sleepers_[g.value];
  measured_.parked();
  live_.parked(w);
}

bool simulation::wake(group_id g, std::size_t place) noexcept {
  worker_bits& parked = boards_.of(g).parked;
  if (!parked.test(place) || !parked.claim(place)) return false;
  const worker_id w = layout_.of_group(g)[place].id;
  --asleep_;
  --sleepers_[g.value];
  ++domains_[domain_of(w)].searching;
  at(w).searching = true;
  set_state(w, state::waking);
  measured_.woken();
  if (acting_ != nowhere) seats_[acting_].debt_ns += costs_.waking;
  plan(costs_.wake_up, {event::kind::woken, w.value, at(w).generation});
  return true;
}

bool simulation::wake_any(group_id g) noexcept {
  return can_wake(g) && wake(g, boards_.of(g).parked.lowest());
}

void simulation::wake_for_injection(group_id g) noexcept {
  for (const group_id other : groups_[g].steal_order)
    if (injection_of_[other.value] == injection_of_[g.value] && wake_any(other)) return;
}

std::uint32_t simulation::waiting_in(std::uint32_t domain) const noexcept {
  std::uint32_t waiting = domains_[domain].waiting;
  for (const task_row& row : domains_[domain].classes) waiting += row.size();
  if (injected_ != 0)
    for (const group_id g : groups_.domains()[domain]) waiting += injected(g);
  return waiting;
}

bool simulation::own_work(worker_id w) const noexcept {
  const seat& s = seats_[w.value];
  return !s.ring.empty() || !s.inbox.empty() || !s.forks.empty();
}

bool simulation::work_for(worker_id w) const noexcept {
  const group_id own = group_of(w);
  if (groups_books_[own.value].waiting != 0 && stealing_) return true;
  if (own_work(w) || injected(own) != 0) return true;
  if (std::ranges::any_of(domains_[domain_of(w)].classes, [](const task_row& row) { return !row.empty(); }))
    return true;
  if (!stealing_ || waiting_ + injected_ + in_classes_ == 0) return false;
  return std::ranges::any_of(groups_[own].steal_order, [&](group_id g) { return may_find(own, g); });
}

/// Returns whether a visit of the steal policy could find anything. Most workers find out here at once that
/// it could not.
bool simulation::anything_to_steal(worker_id w) const noexcept {
  if (waiting_ + injected_ + in_slots_ == 0) return false;
  const group_id own = group_of(w);
  const std::uint32_t domain = groups_[own].domain;
  if (domains_[domain].slots != 0 || waiting_in(domain) != 0) return true;
  if (!anything_for_others()) return false;
  std::uint32_t asked = domain;
  return std::ranges::any_of(groups_[own].steal_order, [&](group_id g) {
    if (groups_[g].domain == asked) return false;
    asked = groups_[g].domain;
    return waiting_in(asked) != 0 && may_steal(own, g);
  });
}

task_index simulation::look_around(worker_id w, steal_effort effort, double& cost_ns) {
  if (in_classes_ != 0)
    if (const task_index t = take_suited(w, task_class::latency, effort); t != no_task) return t;
  if (const task_index t = poll_shared(w, false); t != no_task) return t;
  if (!at(w).ring.empty()) return pop_ring(w);
  if (stealing_ && anything_to_steal(w))
    if (const task_index t = steal(w, effort, cost_ns); t != no_task) return t;
  if (in_classes_ == 0) return no_task;
  if (const task_index t = take_suited(w, task_class::background, effort); t != no_task) return t;
  return stealing_ ? take_far_class(w) : no_task;
}

/// Takes a task of the domain's queue, unless it leaves it to an idle worker that suits the task better; if
/// that worker spins, it looks.
task_index simulation::take_suited(worker_id w, task_class c, steal_effort effort) {
  const std::uint32_t domain = domain_of(w);
  if (!class_waits(domain, c)) return no_task;
  bool& handed = at(w).handed[static_cast<std::size_t>(c) - 1];
  if (!stealing_ || !leaves_to_better_suited(w, c, effort == steal_effort::thorough, handed))
    return take_class(domain, c);
  (void)any_better_suited(w, c, [&](group_id g) {
    const auto members = layout_.of_group(g);
    const auto spinner =
        std::ranges::find_if(members, [&](const worker_place& p) { return at(p.id).now == state::spinning; });
    if (spinner == members.end()) return false;
    plan_look(spinner->id);
    return true;
  });
  return no_task;
}

bool simulation::on_its_way(group_id g) const noexcept {
  return std::ranges::any_of(layout_.of_group(g),
                             [&](const worker_place& p) { return seats_[p.id.value].now == state::waking; });
}

/// Steals. The steal policy decides where to look, and in which order.
task_index simulation::steal(worker_id w, steal_effort effort, double& cost_ns) {
  const group_id own = group_of(w);
  task_index t = no_task;
  policies_.stealing().visit(boards_.view(), w, at(w).rng, effort, [&](const steal_stop& stop) {
    if (!may_steal(own, stop.group)) return false;
    t = stop.victim ? steal_from(w, *stop.victim, stop.level) : take_injected(w, stop.group);
    if (t != no_task) cost_ns = costs_.steal[static_cast<std::size_t>(stop.level)];
    return t != no_task;
  });
  return t;
}

/// Takes a task with a class from the nearest domain where no worker is idle and enough tasks wait.
task_index simulation::take_far_class(worker_id w) {
  std::uint32_t asked = domain_of(w);
  for (const group_id g : groups_[group_of(w)].steal_order) {
    if (groups_[g].domain == asked) continue;
    asked = groups_[g].domain;
    const auto& classes = domains_[asked].classes;
    if (classes[0].empty() && classes[1].empty()) continue;
    if (!may_steal_class(group_of(w), asked)) continue;
    for (const task_class c : {task_class::latency, task_class::background})
      if (const task_index t = take_class(asked, c); t != no_task) return t;
  }
  return no_task;
}

/// Takes half of the victim's ring, or else half of its inbox, or else its oldest fork.
task_index simulation::steal_from(worker_id thief, worker_id victim, level distance) {
  seat& v = at(victim);
  const std::uint32_t most = with_room(profile_.steal.batch_max, room(thief));
  task_row stolen;
  const auto take = [&](task_row& from, std::uint32_t count) {
    while (stolen.size() < count) stolen.push_back(tasks_, from.pop_front(tasks_));
  };
  if (!v.ring.empty()) {
    take(v.ring, half_of(v.ring.size(), most));
    v.front -= std::min(v.front, stolen.size());
  } else if (!v.inbox.empty()) {
    take(v.inbox, half_of(v.inbox.size(), most));
  } else if (!v.forks.empty()) {
    take(v.forks, 1);
  }
  if (stolen.empty()) return no_task;
  count_waiting(victim, -static_cast<std::int32_t>(stolen.size()));
  cool(boards_.slot(victim));
  show(victim);
  measured_.stolen(distance, stolen.size());
  live_.stolen(thief, group_of(victim), distance, stolen.size());
  return keep(thief, stolen, 0);
}

} // namespace corewise::detail
