#pragma once

#include "worker/cpu_offers.hpp"
#include "worker/task_supply.hpp"

#include <corewise/policies/policy.hpp>
#include <corewise/policies/steal_policy.hpp>

namespace corewise::detail {

/// Looks for work where a worker has none: in the class queues of its domain, in its own queues again, and
/// in those of other workers. Call from the seat's thread.
class searcher {
 public:
  searcher(worker& seat, task_supply& supply) noexcept : seat_(seat), supply_(supply) {}

  /// Searches for `idle.spin`, if the domain has room for a searcher. Returns null if there is no work.
  [[gnu::hot]] task_header* search() noexcept;
  /// Waits a little, if many short tasks came to the inbox since the last call. Returns whether it did.
  [[gnu::hot]] bool linger() noexcept;

 private:
  [[gnu::hot]] task_header* spin() noexcept;
  void wait_a_round(monotonic::time_point now) noexcept;
  task_header* look_around(steal_effort effort) noexcept;
  task_header* take_suited(task_class c, steal_effort effort) noexcept;
  task_header* take_far_class() noexcept;
  task_header* steal(steal_effort effort) noexcept;
  task_header* steal_from(worker& victim, level distance) noexcept;

  worker& seat_;
  task_supply& supply_;
  cpu_offers offers_;
  bool steals_ = false; // in this search
  // By class: whether the worker has woken another for such a task since it began to search.
  std::array<bool, queued_classes> has_woken_{};
  std::uint32_t lingered_at_ = 0; // the inbox's tasks taken when the worker lingered last
};

} // namespace corewise::detail
