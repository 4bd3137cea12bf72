#pragma once

#include "simulated_state.hpp"

#include <corewise/policies/idle_rules.hpp>

#include <array>

namespace corewise::detail {

/// Which workers come upon the tasks that wait: sleepers are woken, as in the engine's idle room, and
/// spinning workers have a look planned.
class simulated_waking : private idle_rules<simulated_waking> {
  friend idle_rules<simulated_waking>;

 public:
  explicit simulated_waking(simulated_state& state);

  /// Wakes the worker that the rules choose, and lets a worker that is awake see a task that was pushed to
  /// worker w, or to its group's injection queue.
  void notify_pushed(worker_id w);
  /// Does so for a task of class c that was pushed to the queue of a domain; `g`: the group of that domain
  /// where it was placed.
  void notify_pushed(group_id g, task_class c);
  /// Lets other workers come upon the tasks that are left, whichever worker they were offered to before. Call
  /// it when a worker that searched has found work. `last`: no worker of its domain searches any more.
  void notify_found(worker_id w, bool last);
  /// Wakes a worker of another domain where tasks of the worker's group take longer than before (as
  /// `wake_ups::notify_longer`).
  void notify_longer(worker_id w);

  using idle_rules::any_better_suited;
  using idle_rules::leaves_to_better_suited;
  using idle_rules::may_steal;
  using idle_rules::may_steal_class;
  using idle_rules::sees_work;

 private:
  void offer_class(group_id g, task_class c);
  void offer_to_searchers(group_id own);
  void offer_rest();

  // --- what idle_rules asks
  bool stealing() const noexcept { return state_.setup.stealing; }
  bool any_parked() const noexcept { return state_.workers.any_asleep(); }
  bool searching(std::uint32_t domain) const noexcept { return state_.workers.any_searches(domain); }
  bool ask_to_look_elsewhere(std::uint32_t domain) noexcept {
    return state_.workers.ask_to_look_elsewhere(domain);
  }
  bool take_request(std::uint32_t domain) noexcept { return state_.workers.take_request(domain); }
  std::uint32_t active_in(group_id g) const noexcept {
    return static_cast<std::uint32_t>(layout_.of_group(g).size());
  }
  bool can_wake(group_id g) const noexcept { return state_.workers.any_asleep(g); }
  bool wake(group_id g, std::size_t index) noexcept;
  bool wake_any(group_id g) noexcept { return can_wake(g) && wake(g, state_.workers.lowest_asleep(g)); }
  bool lowest_first() const noexcept { return state_.setup.profile.idle.wake == wake_order::lowest; }
  std::uint32_t waiting_in(std::uint32_t domain) const noexcept { return state_.queues.waiting_in(domain); }
  bool work_in(group_id g) const noexcept { return state_.queues.work_in(g); }
  std::uint32_t injected(group_id g) const noexcept { return state_.queues.injected(g); }
  void wake_for_injection(group_id g) noexcept;
  std::uint32_t least_at(level l) const noexcept { return minimum_at_[static_cast<std::size_t>(l)]; }
  std::uint64_t task_time_ns(group_id g) const noexcept { return state_.ticks.task_time_ns(g); }
  static bool stands_still(std::uint32_t) noexcept { return false; } // simulated tasks end soon
  bool class_waits(std::uint32_t domain, task_class c) const noexcept {
    return state_.queues.class_waits(domain, c);
  }
  bool own_work(worker_id w) const noexcept { return state_.queues.own_work(w); }
  bool work_for(worker_id w) const noexcept;
  bool spins_in(group_id g) const noexcept { return state_.boards.view().board(g).spinning.any(); }
  bool on_its_way(group_id g) const noexcept;
  static bool wake_to_send_away(std::uint32_t) noexcept { return false; } // no simulated worker retires

  simulated_state& state_;
  const std::array<std::uint32_t, level_count> minimum_at_;
};

} // namespace corewise::detail
