#pragma once

#include "idle/queued_work.hpp"

#include <corewise/policies/load_view.hpp>

#include <algorithm>

// Workers that the profile has taken away (design.md, D9), and what they leave to others.
//
// Invariant: a task that is sent to a retired worker is seen by that worker before it sleeps, or its
// producer wakes a worker for it.
//
// A retired worker sends away what it has, and sleeps as any other worker does, with its parked bit set,
// but counted apart. A waker wakes it only for what was sent to it, which it sends away, too. While it is
// still in a task, producers wake thieves instead: its queues stay on the thieves' lists.
//
//     producer                                    retiring worker
//     P1  put the task into its inbox             R1  send away what is there, count itself as retired, set
//                                                     its parked bit, leave the searchers
//     P2  full fence                              R2  full fence
//     P3  no worker sleeps, no retired worker     R3  look at the inbox; a task: claim its own bit, go on
//         either: done                                from R1. Else, as the last searcher: look everywhere,
//     P4  the worker sleeps: wake it; else,           wake a sleeper for what it sees
//         where others steal, one of them         R4  sleep until a token comes
//
// One of the two fences comes first, as in wake_ups.hpp. P3 and P4 read after the push whether the worker
// is active: the load that told the producer to send there may be old. tests/model/retire.pml proves it,
// and that it fails when the producer does not look again, and without the look of R3. Where all workers of
// a domain have retired, one of them sends away what waits in the domain's class queues, or thieves take
// it.

namespace corewise::detail {

class retired_workers {
 public:
  /// All arguments outlive it. `boards` by group.
  retired_workers(const locality_groups& groups, const worker_layout& layout,
                  std::span<const std::unique_ptr<group_board>> boards, const queued_work& work) noexcept
      : groups_(groups),
        layout_(layout),
        boards_(boards),
        work_(work) {}

  /// Returns how many workers of g are active; these are its first ones, the rest have retired.
  std::uint32_t active_in(group_id g) const noexcept {
    return boards_[g.value]->active.load(std::memory_order_relaxed);
  }
  /// Returns whether no active worker takes from the injection queue of g, other than as a thief.
  bool injection_is_orphaned(group_id g) const noexcept {
    return std::ranges::none_of(groups_.groups(), [&](const locality_group& other) {
      return work_.share_injection(other.id, g) && active_in(other.id) != 0;
    });
  }
  /// Returns whether the domain has no active worker, so that only workers of other domains take its tasks
  /// with a class.
  bool classes_are_orphaned(std::uint32_t domain) const noexcept {
    return std::ranges::all_of(groups_.domains()[domain], [&](group_id g) { return active_in(g) == 0; });
  }
  /// Step R3: returns whether retired worker w has something to send away.
  bool holds_work(worker_id w) const noexcept {
    const group_id own = layout_[w].group;
    const std::uint32_t domain = groups_[own].domain;
    return work_.waits_at(w) || (work_.injected(own) != 0 && injection_is_orphaned(own)) ||
           (work_.classes_wait(domain) && classes_are_orphaned(domain));
  }

 private:
  const locality_groups& groups_;
  const worker_layout& layout_;
  std::span<const std::unique_ptr<group_board>> boards_;
  const queued_work& work_;
};

} // namespace corewise::detail
