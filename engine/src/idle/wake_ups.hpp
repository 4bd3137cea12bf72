#pragma once

#include "base/fence.hpp"
#include "idle/idle_settings.hpp"
#include "idle/queued_work.hpp"
#include "idle/retired_workers.hpp"
#include "idle/searchers.hpp"
#include "idle/sleepers.hpp"

#include <corewise/policies/idle_rules.hpp>
#include <corewise/policies/load_view.hpp>

// Which thread wakes which worker for a task.
//
// Invariant: while a task waits and a worker sleeps that may take it, another worker searches, or a thread
// is about to wake a sleeper, or a sleeper is about to take its last look.
//
// A worker without work is a *searcher* of its domain, then *parked*. Three rules (Go's and Tokio's, by
// domain):
//   1. A thread that pushes a task while no worker searches the domain wakes one parked worker, which
//      becomes a searcher.
//   2. A searcher that finds work stops searching; if it was the last, and more work waits, it wakes another.
//   3. The last searcher that finds nothing looks everywhere once more after it has set its parked bit.
// So at most one wake-up is under way in a domain, and a burst wakes workers one after another, each only
// while work waits. When no worker of a domain is left to wake, a push that leaves enough there
// (`idle_rules::worth_the_way`) wakes the nearest parked worker further out, unless a worker searches where
// that one sleeps; so does a group that tells that its tasks take longer.
//
//     producer                                    worker
//     P1  put the task into a queue               W1  count itself as asleep, set its parked bit,
//                                                     leave the searchers
//     P2  full fence                              W2  full fence
//     P3  a worker searches the domain: done      W3  look at the queues; work: claim its own bit, search
//     P4  claim a parked bit, count a searcher,   W4  sleep until a token comes
//         leave the token
//
// No wake-up is lost: one of the two fences comes first. If P2 comes first, W3 sees the task. If W2 comes
// first, P3 sees that the worker searches no longer, or P4 sees its bit. A worker that was not the last
// searcher looks at its own queues only, and leaves the rest to the last one. Where workers do not steal
// there are no searchers, and each looks at its group's injection queue as well. tests/model/park.pml
// proves it, and that it fails without a fence, without the last look, and without rule 2.
//
// Tasks that a worker moves from a shared queue to its ring are in no queue for a moment, in which a last
// look misses them. So that worker acts as one that has pushed them.
//
// A task with a class (class_queue.hpp) is pushed to its domain instead of a worker: P1 puts it into the
// domain's queue, which every last look reads. Another worker is woken for it: for `latency` the fastest
// sleeper of the domain, for `background` the slowest. A searcher that is slower, or faster, leaves the
// task to an idle worker that suits it better (`leaves_to_better_suited`). If that worker sleeps, the
// searcher wakes it, and so counts it as a searcher before it leaves the searchers itself. So a worker
// looks after the task all the time.
//
// Rejected: waking on every push (a system call for each task of a burst); a flag "about to park" instead
// of the fence (the waker may read it too early).
//
// | tag    | release site         | acquire site         | publishes            | weakened          |
// |--------|----------------------|----------------------|----------------------|-------------------|
// | P2, W2 | full_fence (seq_cst) | full_fence (seq_cst) | nothing; order only: | a wake-up is lost |
// |        |                      |                      | bits, searchers,     |                   |
// |        |                      |                      | counts of sleepers,  |                   |
// |        |                      |                      | the end              |                   |

namespace corewise::detail {

class wake_ups : idle_rules<wake_ups> {
  friend idle_rules<wake_ups>;

 public:
  /// All arguments outlive it. `boards` by group.
  wake_ups(const locality_groups& groups, const worker_layout& layout,
           std::span<const std::unique_ptr<group_board>> boards, const queued_work& work);
  wake_ups(const wake_ups&) = delete;
  wake_ups& operator=(const wake_ups&) = delete;

  /// Takes the settings of this profile; the boards say already which workers are active. Call `wake_all`
  /// afterwards. Call from one thread at a time.
  void set(const profile& settings) noexcept;

  const idle_settings& settings() const noexcept { return settings_; }
  std::size_t domains() const noexcept { return groups_.domains().size(); }
  std::size_t groups() const noexcept { return groups_.size(); }
  const queued_work& work() const noexcept { return work_; }
  const retired_workers& retired() const noexcept { return retired_; }
  detail::searchers& searchers() noexcept { return searchers_; }
  detail::sleepers& sleepers() noexcept { return sleepers_; }
  const detail::sleepers& sleepers() const noexcept { return sleepers_; }

  // --- the producer. Any thread.

  /// Rule 1: wakes a worker for a task that was pushed to worker w, or to its group's injection queue.
  void notify_pushed(worker_id w) noexcept {
    full_fence(); // P2
    if (sleepers_.any()) wake_for_pushed(w);
  }
  /// Rule 1, for a task of class c that was pushed to a domain's queue.
  void notify_pushed(std::uint32_t domain, task_class c) noexcept;

  /// Wakes a worker of another domain if what waits in that of group g is worth the way, now that its tasks are said to
  /// take longer.
  void notify_longer(group_id g) noexcept;

  /// Notes whether the domain stands still. If so, wakes a worker of another domain for what waits there.
  /// Call from one thread at a time.
  void note_standstill(std::uint32_t domain, bool still) noexcept;

  /// Wakes a sleeper of g, the lowest first. Returns false if no active worker of g sleeps.
  bool wake_any(group_id g) noexcept;
  /// Does the same. Where all workers of g have retired, wakes one of these: it looks into the driver of g.
  bool wake_for_driver(group_id g) noexcept;
  /// Returns whether an active worker of g sleeps.
  bool has_sleeper(group_id g) const noexcept { return can_wake(g); }
  /// Wakes a sleeper of the group that is nearest to g, or of g. Returns false if no active worker sleeps.
  bool wake_nearest(group_id g) noexcept;
  /// Wakes all sleepers, retired workers too. Cost: a system call for each.
  void wake_all() noexcept;

  // --- the worker

  /// Rule 2: wakes another worker if more work waits. Call it when worker w has found work and was the
  /// domain's last searcher, or where workers do not steal.
  [[gnu::hot]] void found_work(worker_id w) noexcept {
    full_fence();
    if (any_parked()) wake_for_rest(w);
  }
  using idle_rules::sees_work; // step W3
  /// Step R3: wakes workers for the work that a retired worker of group `from` sees, which was the last
  /// searcher.
  void wake_for_all_seen(group_id from) noexcept;
  /// Returns whether a task waits, anywhere, that worker w may take.
  bool work_for(worker_id w) const noexcept { return work_.waits_at(w) || work_elsewhere_for(w); }
  /// Returns the same without the worker's own queues. Call from any thread.
  bool work_elsewhere_for(worker_id w) const noexcept;
  using idle_rules::may_steal;
  bool may_steal_class(group_id thief, std::uint32_t domain) const noexcept;
  bool leaves_to_better_suited(worker_id w, task_class c, bool last_round, bool& handed) noexcept;

 private:
  [[gnu::hot]] void wake_for_pushed(worker_id w) noexcept;

  // The functions that `idle_rules` calls.
  bool stealing() const noexcept { return settings_.stealing(); }
  bool any_parked() const noexcept { return sleepers_.any_for_work(); }
  bool searching(std::uint32_t domain) const noexcept { return searchers_.any(domain); }
  bool ask_to_look_elsewhere(std::uint32_t domain) noexcept {
    return searchers_.ask_to_look_elsewhere(domain);
  }
  bool take_request(std::uint32_t domain) noexcept { return searchers_.take_request(domain); }
  std::uint32_t active_in(group_id g) const noexcept { return retired_.active_in(g); }
  bool can_wake(group_id g) const noexcept;
  [[gnu::hot]] bool wake(group_id g, std::size_t index) noexcept;
  bool lowest_first() const noexcept { return settings_.lowest_first(); }
  std::uint32_t waiting_in(std::uint32_t domain) const noexcept { return work_.count_in(domain); }
  bool work_in(group_id g) const noexcept { return work_.waits_in(g); }
  std::uint32_t injected(group_id g) const noexcept { return work_.injected(g); }
  void wake_for_injection(group_id g) noexcept;
  std::uint32_t least_at(level l) const noexcept { return settings_.least_at(l); }
  std::uint64_t task_time_ns(group_id g) const noexcept {
    return boards_[g.value]->task_time_ns.load(std::memory_order_relaxed);
  }
  bool stands_still(std::uint32_t domain) const noexcept {
    return still_[domain].load(std::memory_order_relaxed); // its next writer looks again, and wakes again
  }
  bool class_waits(std::uint32_t domain, task_class c) const noexcept { return work_.class_waits(domain, c); }
  bool own_work(worker_id w) const noexcept { return work_.waits_at(w); }
  bool spins_in(group_id g) const noexcept { return boards_[g.value]->spinning.lowest() < active_in(g); }
  bool on_its_way(group_id g) const noexcept;
  bool wake_to_send_away(std::uint32_t domain) noexcept;
  bool wake_retired(group_id g) noexcept;

  std::span<const std::unique_ptr<group_board>> boards_;
  queued_work work_;
  retired_workers retired_;
  idle_settings settings_;
  detail::searchers searchers_;
  detail::sleepers sleepers_;
  std::unique_ptr<atomic<bool>[]> still_; // by domain: it stands still; one writer
};

} // namespace corewise::detail
