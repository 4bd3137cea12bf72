#include "simulated_queues.hpp"

#include <algorithm>

namespace corewise::detail {

simulated_queues::simulated_queues(const run_setup& setup, task_pool& tasks, simulated_boards& boards,
                                   worker_debts& debts)
    : setup_(setup),
      tasks_(tasks),
      boards_(boards),
      debts_(debts),
      workers_(setup.layout.size()),
      groups_(setup.groups.size()),
      domains_(setup.groups.domains().size()) {}

// --- a worker's queues

void simulated_queues::store(worker_id w, task_index t) {
  worker_queues& q = workers_[w.value];
  if (q.ring.size() < setup_.ring_capacity) {
    q.ring.push_back(tasks_, t);
    return count_waiting(w, 1);
  }
  for (std::uint32_t older = shed_of(setup_.ring_capacity); older != 0; --older) {
    const task_index oldest = q.ring.pop_front(tasks_);
    q.front -= std::min(q.front, 1U);
    if (setup_.injects) {
      count_waiting(w, -1);
      inject(setup_.group_of(w), oldest);
    } else {
      q.inbox.push_back(tasks_, oldest);
    }
  }
  if (setup_.injects) return inject(setup_.group_of(w), t);
  q.inbox.push_back(tasks_, t);
  count_waiting(w, 1);
}

void simulated_queues::put_in_front(worker_id w, task_row& taken, std::uint32_t count) {
  task_row front = taken.split_front(tasks_, std::min(count, taken.size()));
  if (front.empty()) return;
  worker_queues& q = workers_[w.value];
  q.front = front.size();
  count_waiting(w, static_cast<std::int32_t>(front.size()));
  while (!front.empty()) q.ring.push_front(tasks_, front.pop_back(tasks_));
}

task_index simulated_queues::pop_ring(worker_id w) noexcept {
  worker_queues& q = workers_[w.value];
  const task_index t = q.ring.pop_front(tasks_);
  if (t == no_task) return t;
  if (q.front != 0) --q.front;
  count_waiting(w, -1);
  return t;
}

void simulated_queues::push_fork(worker_id w, task_index t) noexcept {
  workers_[w.value].forks.push_back(tasks_, t);
  count_waiting(w, 1);
}

task_index simulated_queues::pop_fork(worker_id w) noexcept {
  count_waiting(w, -1);
  return workers_[w.value].forks.pop_back(tasks_);
}

void simulated_queues::put_in_inbox(worker_id w, task_index t, std::int64_t now_ns) noexcept {
  worker_queues& q = workers_[w.value];
  debts_.fetch(q.inbox_user, 1); // the end where tasks are put
  tasks_[t].came_ns = q.times_inbox ? now_ns : 0;
  q.inbox.push_back(tasks_, t);
  count_waiting(w, 1);
}

task_row simulated_queues::take_from_inbox(worker_id w, std::uint32_t most) noexcept {
  worker_queues& q = workers_[w.value];
  debts_.fetch(q.inbox_user, 1);
  const std::uint32_t count = std::min(most, q.inbox.size());
  count_waiting(w, -static_cast<std::int32_t>(count));
  return q.inbox.split_front(tasks_, count);
}

task_row simulated_queues::rob(worker_id victim, std::uint32_t most) noexcept {
  worker_queues& q = workers_[victim.value];
  task_row stolen;
  if (!q.ring.empty()) {
    stolen = q.ring.split_front(tasks_, half_of(q.ring.size(), most));
    q.front -= std::min(q.front, stolen.size());
  } else if (!q.inbox.empty()) {
    stolen = q.inbox.split_front(tasks_, half_of(q.inbox.size(), most));
  } else if (!q.forks.empty()) {
    stolen = q.forks.split_front(tasks_, 1);
  }
  if (!stolen.empty()) count_waiting(victim, -static_cast<std::int32_t>(stolen.size()));
  return stolen;
}

// --- injection queues

void simulated_queues::inject(group_id g, task_index t) noexcept {
  group_queues& of_group = injecting(g);
  debts_.fetch(of_group.injection_user, 2); // the end, and the lock
  of_group.injection.push_back(tasks_, t);
  ++injected_;
}

task_row simulated_queues::take_injected(group_id g, std::uint32_t most) noexcept {
  group_queues& of_group = injecting(g);
  debts_.fetch(of_group.injection_user, 2);
  const std::uint32_t count = std::min(most, of_group.injection.size());
  injected_ -= count;
  return of_group.injection.split_front(tasks_, count);
}

// --- queues of classes

void simulated_queues::push_class(std::uint32_t domain, task_class c, task_index t) noexcept {
  domain_queues& of_domain = domains_[domain];
  of_domain.classes[place_of(c)].push_back(tasks_, t);
  of_domain.waiting_words[place_of(c)] = true;
  ++in_classes_;
}

task_index simulated_queues::take_class(std::uint32_t domain, task_class c) noexcept {
  domain_queues& of_domain = domains_[domain];
  const task_index t = of_domain.classes[place_of(c)].pop_front(tasks_);
  if (t == no_task)
    of_domain.waiting_words[place_of(c)] = false;
  else
    --in_classes_;
  return t;
}

// --- what waits

std::uint32_t simulated_queues::waiting_in(std::uint32_t domain) const noexcept {
  std::uint32_t waiting = domains_[domain].waiting;
  for (const task_row& row : domains_[domain].classes) waiting += row.size();
  if (injected_ != 0)
    for (const group_id g : setup_.groups.domains()[domain]) waiting += injected(g);
  return waiting;
}

std::uint32_t simulated_queues::in_classes(task_class c) const noexcept {
  std::uint32_t waiting = 0;
  for (const domain_queues& d : domains_) waiting += d.classes[place_of(c)].size();
  return waiting;
}

void simulated_queues::count_waiting(worker_id w, std::int32_t change) noexcept {
  const auto by = static_cast<std::uint32_t>(change); // wraps
  const group_id g = setup_.group_of(w);
  groups_[g.value].waiting += by;
  std::uint32_t& of_domain = domains_[setup_.groups[g].domain].waiting;
  const bool before = of_domain != 0;
  of_domain += by;
  if (before != (of_domain != 0)) loaded_domains_ += before ? ~std::uint32_t{0} : 1U;
  waiting_ += by;
}

} // namespace corewise::detail
