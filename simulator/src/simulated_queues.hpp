#pragma once

#include "boards.hpp"
#include "run_setup.hpp"
#include "tasks.hpp"
#include "worker_debts.hpp"

#include <array>
#include <utility>
#include <vector>

namespace corewise::detail {

/// The tasks of one worker.
struct worker_queues {
  task_row ring, inbox, forks;
  task_index lifo = no_task;
  task_index running = no_task;
  std::uint32_t started = 0;          ///< how many tasks it has begun
  std::uint32_t front = 0;            ///< how many of the ring's tasks come before the LIFO slot
  std::uint32_t inbox_user = nowhere; ///< the worker that put into the inbox, or took from it, last
  bool times_inbox = false;           ///< the inbox notes when its tasks came
};

/// Where each task is: in a queue of a worker, of a group or of a domain, or running. Counts the tasks that
/// wait, by group and by domain, and shows loads on the boards that the policies read.
class simulated_queues {
 public:
  simulated_queues(const run_setup& setup, task_pool& tasks, simulated_boards& boards, worker_debts& debts);

  // --- a worker's queues
  const worker_queues& of(worker_id w) const noexcept { return workers_[w.value]; }
  /// Shows the worker's load on its board. Call it after changes of the worker's queues.
  void show(worker_id w) noexcept {
    const worker_queues& q = of(w);
    boards_.show(w, q.ring.size(), q.inbox.size(), q.forks.size(), q.lifo != no_task, q.running != no_task);
  }
  /// Stores a task in the ring. When the ring is full its older half goes to the injection queue with the
  /// task.
  void store(worker_id w, task_index t);
  /// Moves the first `count` of the taken tasks to the front of the ring: before the LIFO slot.
  void put_in_front(worker_id w, task_row& taken, std::uint32_t count);
  task_index pop_ring(worker_id w) noexcept;
  void push_fork(worker_id w, task_index t) noexcept;
  task_index pop_fork(worker_id w) noexcept;
  bool inbox_full(worker_id w) const noexcept { return of(w).inbox.size() >= setup_.inbox_capacity; }
  void put_in_inbox(worker_id w, task_index t, std::int64_t now_ns) noexcept;
  task_row take_from_inbox(worker_id w, std::uint32_t most) noexcept;
  void time_inbox(worker_id w, bool on) noexcept { workers_[w.value].times_inbox = on; }
  /// Puts a task into the LIFO slot. Returns the task that was there.
  task_index fill_slot(worker_id w, task_index t) noexcept {
    const task_index evicted = std::exchange(workers_[w.value].lifo, t);
    if (evicted == no_task) count_slot(w, 1);
    return evicted;
  }
  /// Takes the task out of the LIFO slot, which is not empty.
  task_index empty_slot(worker_id w) noexcept {
    count_slot(w, -1);
    return std::exchange(workers_[w.value].lifo, no_task);
  }
  /// Takes half of the ring, or else half of the inbox, or else the oldest fork. `most`: the most tasks that
  /// it takes.
  task_row rob(worker_id victim, std::uint32_t most) noexcept;
  void begin_task(worker_id w, task_index t) noexcept {
    workers_[w.value].running = t;
    ++workers_[w.value].started;
  }
  void end_task(worker_id w) noexcept { workers_[w.value].running = no_task; }

  // --- injection queues
  void inject(group_id g, task_index t) noexcept;
  task_row take_injected(group_id g, std::uint32_t most) noexcept;
  std::uint32_t injected(group_id g) const noexcept {
    return groups_[setup_.injection_of[g.value].value].injection.size();
  }

  // --- queues of classes
  void push_class(std::uint32_t domain, task_class c, task_index t) noexcept;
  task_index take_class(std::uint32_t domain, task_class c) noexcept;
  bool class_waits(std::uint32_t domain, task_class c) const noexcept {
    return !domains_[domain].classes[place_of(c)].empty();
  }
  /// The engine's word: true until a worker finds nothing there.
  bool waiting_word(std::uint32_t domain, task_class c) const noexcept {
    return domains_[domain].waiting_words[place_of(c)];
  }

  // --- what waits
  bool own_work(worker_id w) const noexcept {
    const worker_queues& q = of(w);
    return !q.ring.empty() || !q.inbox.empty() || !q.forks.empty();
  }
  std::uint32_t waiting_for_workers(group_id g) const noexcept { return groups_[g.value].waiting; }
  bool work_in(group_id g) const noexcept { return groups_[g.value].waiting != 0 || injected(g) != 0; }
  /// Returns how many tasks wait in the domain, elsewhere than in LIFO slots.
  std::uint32_t waiting_in(std::uint32_t domain) const noexcept;
  std::uint32_t slots_in(std::uint32_t domain) const noexcept { return domains_[domain].slots; }
  /// Returns whether a task waits anywhere but in LIFO slots.
  bool any_waits() const noexcept { return waiting_ + injected_ + in_classes_ != 0; }
  /// Returns whether a task waits anywhere but in the queues of classes.
  bool any_to_steal() const noexcept { return waiting_ + injected_ + in_slots_ != 0; }
  /// Returns whether a task waits that a worker of another domain might take.
  bool any_for_others() const noexcept { return injected_ + in_classes_ + loaded_domains_ != 0; }
  std::uint32_t in_classes() const noexcept { return in_classes_; }
  std::uint32_t in_classes(task_class c) const noexcept;
  std::uint32_t in_injection_queues() const noexcept { return injected_; }

  /// Calls `visit` with each task that waits or runs.
  template <class Visit> void for_each(const Visit& visit) const;
  /// Checks that boards and counters agree with the queues: walks through every queue. Throws
  /// std::logic_error.
  void look_through() const;

 private:
  struct group_queues {
    task_row injection;                     ///< empty where another group's is used
    std::uint32_t injection_user = nowhere; ///< the worker that put into it, or took from it, last
    std::uint32_t waiting = 0;              ///< in rings, inboxes and deques of forks
  };
  struct domain_queues {
    std::array<task_row, queued_classes> classes;
    std::array<bool, queued_classes> waiting_words{};
    std::uint32_t waiting = 0; ///< as of groups
    std::uint32_t slots = 0;   ///< LIFO slots that are taken
  };

  static std::size_t place_of(task_class c) noexcept { return static_cast<std::size_t>(c) - 1; }
  group_queues& injecting(group_id g) noexcept { return groups_[setup_.injection_of[g.value].value]; }
  void count_waiting(worker_id w, std::int32_t change) noexcept;
  void count_slot(worker_id w, std::int32_t change) noexcept {
    const auto by = static_cast<std::uint32_t>(change); // wraps
    in_slots_ += by;
    domains_[setup_.domain_of(w)].slots += by;
  }
  std::uint32_t counted(const task_row& row) const;
  std::uint32_t look_through_worker(worker_id w) const;
  std::uint32_t look_through_group(const locality_group& g) const;

  const run_setup& setup_;
  task_pool& tasks_;
  simulated_boards& boards_;
  worker_debts& debts_;
  std::vector<worker_queues> workers_;
  std::vector<group_queues> groups_;
  std::vector<domain_queues> domains_;
  std::uint32_t waiting_ = 0; // in rings, inboxes and deques of forks
  std::uint32_t injected_ = 0;
  std::uint32_t in_slots_ = 0;
  std::uint32_t in_classes_ = 0;
  std::uint32_t loaded_domains_ = 0; // domains where any waits in rings, inboxes and deques
};

template <class Visit> void simulated_queues::for_each(const Visit& visit) const {
  const auto row = [&](const task_row& tasks) {
    for (task_index t = tasks.front(); t != no_task; t = tasks_[t].next) visit(t);
  };
  for (const worker_queues& q : workers_) {
    row(q.ring);
    row(q.inbox);
    row(q.forks);
    if (q.lifo != no_task) visit(q.lifo);
    if (q.running != no_task) visit(q.running);
  }
  for (const group_queues& g : groups_) row(g.injection);
  for (const domain_queues& d : domains_)
    for (const task_row& c : d.classes) row(c);
}

} // namespace corewise::detail
