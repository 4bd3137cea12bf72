#pragma once

#include "idle/sentinel.hpp"
#include "idle/wake_ups.hpp"
#include "rules/rules.hpp"

// How a worker goes to sleep and is woken, and why no task is stranded meanwhile. Each protocol has a file,
// which opens with its invariant and ends its comment with its memory orders. The lookout has none of its own: it takes
// looks for the four watches that it includes, each of which opens with its invariant.
//
//     sleepers.hpp         one waker wins each sleep                                      W1-W5, C1-C4
//     wake_ups.hpp         no task waits while a worker sleeps that may take it           P1-P4, W1-W4
//     searchers.hpp        searchers look at other domains when a thread relies on that   F1-F2, G1-G3
//     retired_workers.hpp  a task that is sent to a retired worker is not left there      P1-P4, R1-R4
//     sentinel.hpp         one sleeper has duties, and its duties pass on                 D1-D4
//     drivers.hpp          one sleeper of a group sleeps where its I/O events come        K1-K4, Y1-Y3, O1-O2
//     lookout.hpp          a thread finds tasks that age in LIFO slots, and lost wake-ups
//     timer_watch.hpp      the sentinel never sleeps past a timer (room `timers`)         I1-I3, T1-T4

namespace corewise::detail {

/// The workers of an engine as sleepers and searchers: what a worker calls when it runs out of work or
/// finds some, and what a thread calls that has pushed a task.
class idle_workers {
 public:
  /// All arguments outlive it. `queues` by worker id; `injection` by group; `classes` by domain.
  idle_workers(const locality_groups& groups, const worker_layout& layout,
               std::span<const std::unique_ptr<group_board>> boards, std::span<worker_queues* const> queues,
               std::span<injection_queue* const> injection,
               std::span<const std::unique_ptr<domain_classes>> classes, timer_watch& timers,
               const swapped<rules>& newest);

  /// Takes the settings of this profile; the boards say already which workers are active. Call `wake_all`
  /// afterwards. Call from one thread at a time.
  void set(const profile& settings) noexcept { wakes_.set(settings); }
  /// Makes all sleepers look up once, retired workers too. Call from any thread. Cost: a system call for
  /// each.
  void wake_all() noexcept { wakes_.wake_all(); }
  /// Wakes all sleepers for good: no worker goes to sleep any more. Call from any thread.
  void stop() noexcept { wakes_.sleepers().end(); }

  /// Returns whether workers take from each other.
  bool stealing() const noexcept { return wakes_.settings().stealing(); }
  const queued_work& work() const noexcept { return wakes_.work(); }
  const retired_workers& retired() const noexcept { return wakes_.retired(); }
  const sleepers::counters& counts(worker_id w) const noexcept { return wakes_.sleepers().counts(w); }
  /// Returns whether all workers sleep or are about to, the retired ones included. Call from any thread.
  bool all_parked() const noexcept { return wakes_.sleepers().all(); }
  /// Returns whether the worker sleeps; the sentinel does, although it stirs now and then. A worker that
  /// has set its parked bit and does not sleep yet takes a last look before it does. Call from any thread.
  bool asleep(worker_id w) const noexcept {
    return wakes_.sleepers().is_parked(w) && (wakes_.sleepers().in_bed(w) || sentinel_.is(w));
  }

  // --- drivers

  /// Returns whether there are drivers. Call from any thread. Cost: a load.
  bool drives() const noexcept { return wakes_.sleepers().drivers().any(); }
  /// Returns the driver of g; null: there is none. Call from any thread.
  const driver* driver_of(group_id g) const noexcept { return wakes_.sleepers().drivers().of(g); }
  /// Returns what waits in the group's driver, if it has one, as `driver::waits` does. Throws `std::bad_alloc`.
  std::vector<socket_wait> socket_waits(group_id g, std::size_t most) const {
    const driver* const d = driver_of(g);
    return d != nullptr ? d->waits(most) : std::vector<socket_wait>();
  }
  /// See `drivers`. Call from one thread at a time.
  bool attach(std::vector<std::shared_ptr<driver>> by_group) noexcept;
  void look_after_drivers() noexcept { wakes_.sleepers().drivers().look_after(); }
  void end_drivers() noexcept { wakes_.sleepers().drivers().end(); }
  /// Wakes a sleeper for the driver of g, if no thread holds it; a visitor wakes one when it leaves. Call from any thread
  /// outside the engine. Cost: a load; a fence and another load where no thread holds the driver.
  void operation_begun(group_id g) noexcept;
  /// Looks into the driver of g, the group of worker w or another one. Returns the number of events. Call from
  /// the worker.
  std::size_t poll(worker_id w, group_id g, std::size_t most, ready_tasks& found) noexcept;
  /// Returns whether events may come to the driver of g.
  bool outstanding(group_id g) const noexcept { return wakes_.sleepers().drivers().outstanding(g); }
  bool is_neglected(group_id g) const noexcept { return wakes_.sleepers().drivers().is_neglected(g); }
  /// Returns what came while w slept in the driver of its group.
  ready_tasks& found(worker_id w) noexcept { return wakes_.sleepers().found(w); }

  // --- the supervisor

  /// Returns a lookout of its own for the supervisor. Throws `std::bad_alloc`.
  lookout make_lookout() { return {layout_, wakes_}; }
  /// See `sentinel`.
  void relieve_sentinel() noexcept { sentinel_.relieve(); }

  // --- the producer. Any thread.

  /// Wakes a worker, if need be, for a task that was pushed to worker w, or to its group's injection queue.
  /// Cost: a fence and a load while no worker sleeps; a system call when a worker is woken.
  void notify_pushed(worker_id w) noexcept { wakes_.notify_pushed(w); }
  /// Does the same for a task of class c that was pushed to a domain's queue.
  void notify_pushed(std::uint32_t domain, task_class c) noexcept { wakes_.notify_pushed(domain, c); }
  /// Tells it that the tasks of group g are said to take longer (ADR 0071).
  void notify_longer(group_id g) noexcept { wakes_.notify_longer(g); }
  /// See `sentinel`.
  void timer_set(group_id g, std::int64_t next_ns) noexcept { sentinel_.timer_set(g, next_ns); }

  // --- the worker

  /// Counts w as a searcher, unless enough workers of its domain search. Returns whether w may search.
  bool try_search(worker_id w) noexcept { return stealing() && wakes_.searchers().try_join(domain_of(w)); }
  /// Returns whether workers of group `thief` may take what waits in group `victim`: thresholds by level.
  /// Cost outside the own domain: a look at each worker of the victim's domain.
  bool may_take(group_id thief, group_id victim) const noexcept { return wakes_.may_steal(thief, victim); }
  /// Returns the same for tasks with a class; there no worker of the domain may be idle, either.
  bool may_take_class(group_id thief, std::uint32_t domain) const noexcept {
    return wakes_.may_steal_class(thief, domain);
  }
  /// Returns whether worker w, which searches, leaves a task of class c to another worker; see
  /// `idle_rules`.
  bool leaves_to_better_suited(worker_id w, task_class c, bool last_round, bool& handed) noexcept {
    return wakes_.leaves_to_better_suited(w, c, last_round, handed);
  }
  /// Counts w, which has found work, as a searcher no longer, and wakes another worker if more work waits
  /// (rule 2) or if there is no sentinel (D4).
  [[gnu::hot]] void found_work(worker_id w) noexcept;

  struct parking {
    bool searching = false;    ///< the worker is counted as a searcher now
    bool retired = false;      ///< it goes by rules under which it has retired
    const rules* by = nullptr; ///< the rules that it goes by
    std::uint64_t begun = 0;   ///< how many tasks it has begun
  };
  /// Puts worker w to sleep until it is woken, unless it sees work in a last look, or newer rules. When
  /// this returns w is counted as a searcher.
  [[gnu::hot]] void park(worker_id w, const parking& as) noexcept;

 private:
  std::uint32_t domain_of(worker_id w) const noexcept { return groups_[layout_[w].group].domain; }
  [[gnu::hot]] void sleep(worker_id w, const parking& as, bool leaves_duties) noexcept;
  void hand_over_driver(worker_id w) noexcept;

  const locality_groups& groups_;
  const worker_layout& layout_;
  const swapped<rules>& newest_;
  wake_ups wakes_;
  sentinel sentinel_;
};

} // namespace corewise::detail
