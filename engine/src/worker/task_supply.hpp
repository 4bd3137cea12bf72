#pragma once

#include "queues/class_queue.hpp"
#include "queues/worker_queues.hpp"
#include "rules/rules.hpp"
#include "worker/worker_counters.hpp"

#include <utility>

namespace corewise::detail {

class shared;
class worker;

/// A worker's own queues, and what the worker takes from the queues that it shares with others. It decides
/// how much comes at once and where that lies. `turn_plan` decides when. Call from the seat's thread.
class task_supply {
 public:
  /// All arguments must outlive the supply. `in_force`: the rules that the worker follows.
  task_supply(shared& engine, const worker_place& place, const queue_memory& memory,
              const holder<rules>& in_force, worker_counters& counts);

  /// Returns the worker's own queues. Call from any thread; each queue says what others may do there.
  worker_queues& queues() noexcept { return queues_; }
  const worker_queues& queues() const noexcept { return queues_; }
  /// Returns the class queues of the worker's domain.
  domain_classes& classes() noexcept { return classes_; }
  const domain_classes& classes() const noexcept { return classes_; }

  // --- pushing

  /// Pushes a task into the ring. From a full ring the older half goes to the group's injection queue.
  void push(task_header* t) noexcept {
    if (!queues_.ring.push(t)) overflow(t);
  }
  /// Pushes a task that yields, and wakes no worker for it: a ring with other tasks in it is never empty, so
  /// a thread that looks finds something. A task alone in the ring runs next, unless another one does.
  [[gnu::noinline]] void push_yielded(task_header* t) noexcept;
  /// Notes that the ring may hold nothing but a task that yielded.
  void note_yielded_alone() noexcept { yielded_alone_ = true; }
  /// Announces such a task to other workers: it does not run next.
  void announce_yielded() noexcept {
    if (yielded_alone_) [[unlikely]]
      announce();
  }
  /// Pushes tasks whose events have come: into the front of the ring, since they have waited already. Where a
  /// thief is at work there, they go behind what waits.
  void push_ready(task_chain& ready) noexcept;
  /// Has the worker announce no such task: it runs next, or leaves the ring.
  void forget_yielded() noexcept { yielded_alone_ = false; }

  // --- taking

  task_header* take_class(domain_classes& from, task_class c) noexcept;
  /// Takes one task from the inbox, or else a batch from the group's injection queue.
  [[gnu::hot]] task_header* take_shared() noexcept;
  /// Takes a batch from the inbox or else from the injection queue, or the other way round. Of the latter, up
  /// to `in_front` tasks go before what is in the ring.
  [[gnu::hot]] task_header* take_batch(bool injection_first, std::uint32_t in_front) noexcept;
  task_header* take_injected(group_id from, std::uint32_t in_front = 0) noexcept;
  /// Returns the first task of those taken, and pushes the others into the ring, which has room for them: up
  /// to `in_front` of them before what is there.
  [[gnu::hot]] task_header* push_all_but_first(task_chain taken, std::uint32_t in_front = 0) noexcept;
  /// Returns how many tasks may go into the ring at once.
  std::uint32_t room() const noexcept;
  /// Notes that the worker has taken tasks from the victim's queues.
  void note_stolen(worker& victim, level distance, std::uint32_t tasks) noexcept;

  // --- searching

  /// Returns whether the worker is counted as a searcher of its domain. Then other workers need not hear of
  /// tasks that it moves to its ring.
  bool is_searching() const noexcept { return searching_; }
  void note_searching() noexcept { searching_ = true; }
  /// Returns whether the worker was counted as a searcher.
  bool end_searching() noexcept { return std::exchange(searching_, false); }

 private:
  void overflow(task_header* t) noexcept;
  void announce() noexcept;
  task_header* take_inbox(std::uint32_t most) noexcept;
  task_header* take_oldest() noexcept;
  std::uint32_t share_of(std::uint32_t waiting) const noexcept;
  void push_front(task_chain& taken, std::uint32_t most) noexcept;

  shared& engine_;
  const worker_place& place_;
  worker_queues queues_;
  domain_classes& classes_;
  const holder<rules>& rules_;
  worker_counters& counts_;
  sole_taker takers_; // among what only the worker reads and writes, for it is written at each task
  bool yielded_alone_ = false;
  bool searching_ = false;
};

} // namespace corewise::detail
