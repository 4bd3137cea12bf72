#pragma once

#include "queues/class_queue.hpp"
#include "queues/worker_queues.hpp"

#include <corewise/topology/workers.hpp>

#include <memory>
#include <span>

namespace corewise::detail {

/// Answers where tasks wait. It owns nothing, and writes nothing. A task in a LIFO slot does not count:
/// only the slot's worker looks there. Call from any thread; the answers are about a moment that may be
/// over.
class queued_work {
 public:
  /// All arguments outlive it. `queues` by worker; `injection` by group; `classes` by domain.
  queued_work(const locality_groups& groups, const worker_layout& layout,
              std::span<worker_queues* const> queues, std::span<injection_queue* const> injection,
              std::span<const std::unique_ptr<domain_classes>> classes) noexcept
      : groups_(groups),
        layout_(layout),
        queues_(queues),
        injection_(injection),
        classes_(classes) {}

  std::span<worker_queues* const> queues() const noexcept { return queues_; }
  injection_queue& injection_of(group_id g) const noexcept { return *injection_[g.value]; }

  /// Returns whether a task waits in the worker's own queues.
  bool waits_at(worker_id w) const noexcept { return queues_[w.value]->ready(); }
  /// Returns the same. Call from a thread that is not the worker's.
  bool seems_to_wait_at(worker_id w) const noexcept { return queues_[w.value]->seems_ready(); }
  /// Returns how many tasks wait in the group's injection queue.
  std::uint32_t injected(group_id g) const noexcept { return injection_[g.value]->size(); }
  /// Returns whether both groups have the same injection queue.
  bool share_injection(group_id a, group_id b) const noexcept {
    return injection_[a.value] == injection_[b.value];
  }
  /// Returns whether a task of that class waits in the domain.
  bool class_waits(std::uint32_t domain, task_class c) const noexcept {
    return classes_[domain]->of(c).ready();
  }
  /// Returns whether a task of any class waits in the domain.
  bool classes_wait(std::uint32_t domain) const noexcept { return classes_[domain]->ready(); }

  /// Returns whether a task without a class waits in the group. Cost: a look at each of its workers.
  [[gnu::hot]] bool waits_in(group_id g) const noexcept {
    if (injection_[g.value]->size() != 0) return true;
    for (const worker_place& p : layout_.of_group(g))
      if (queues_[p.id.value]->ready()) return true;
    return false;
  }
  /// Returns how many tasks wait in the domain. Cost: a look at each of its workers.
  std::uint32_t count_in(std::uint32_t domain) const noexcept {
    std::uint32_t waiting = classes_[domain]->depth();
    for (const group_id g : groups_.domains()[domain]) {
      waiting += injection_[g.value]->size();
      for (const worker_place& p : layout_.of_group(g)) waiting += queues_[p.id.value]->waiting();
    }
    return waiting;
  }
  /// Returns how many tasks the domain's workers have begun so far.
  std::uint64_t begun_in(std::uint32_t domain) const noexcept {
    std::uint64_t begun = 0;
    for (const group_id g : groups_.domains()[domain])
      for (const worker_place& p : layout_.of_group(g)) begun += queues_[p.id.value]->started();
    return begun;
  }
  /// Returns how many tasks the workers have begun so far. A worker that takes tasks begins one of them at
  /// once.
  std::uint64_t begun() const noexcept {
    std::uint64_t begun = 0;
    for (const worker_queues* q : queues_) begun += q->started();
    return begun;
  }

 private:
  const locality_groups& groups_;
  const worker_layout& layout_;
  std::span<worker_queues* const> queues_;
  std::span<injection_queue* const> injection_;
  std::span<const std::unique_ptr<domain_classes>> classes_;
};

} // namespace corewise::detail
