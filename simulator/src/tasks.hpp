#pragma once

#include <corewise/policies/task_class.hpp>
#include <corewise/topology/ids.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace corewise::detail {

/// A task by its place in the pool, so that the pool may grow.
using task_index = std::uint32_t;
inline constexpr task_index no_task = ~std::uint32_t{0};
inline constexpr std::uint32_t nowhere = ~std::uint32_t{0};

/// The part of a task in a spawned pair: `spawns` spawns `asks`, which spawns `answers` and becomes
/// `has_asked`.
enum pair_part : std::uint32_t { has_asked = 0, answers, asks, spawns };

struct simulated_task {
  double service_ns = 0; ///< on the fastest kind, near its data
  std::int64_t submitted_ns = 0;
  std::int64_t came_ns = 0;     ///< when it came into its inbox; 0: no one looked at the time
  std::uint32_t node = nowhere; ///< the node of its data
  group_id from;                ///< where it was submitted
  group_id lines_at;            ///< where it was put last: its lines come from there
  task_class run_as = task_class::normal;
  bool measured = true;    ///< its response time is measured
  std::uint32_t depth = 0; ///< fork_join: levels below it; ping_pong: its part in a pair that is spawned
  std::uint32_t owner = nowhere; ///< fork_join: the parent; closed: the client; ping_pong: the partner
  std::uint32_t waits_for = 0;   ///< fork_join: children that have not ended
  std::uint32_t last = nowhere;  ///< the worker that it ran on last, or that began it
  task_index next = no_task;
  task_index previous = no_task;
};

/// The tasks that have not ended. Places are used again.
class task_pool {
 public:
  task_index make() {
    ++alive_;
    if (free_ == no_task) {
      tasks_.emplace_back();
      return static_cast<task_index>(tasks_.size() - 1);
    }
    const task_index t = free_;
    free_ = tasks_[t].next;
    tasks_[t] = {};
    return t;
  }
  void end(task_index t) noexcept {
    --alive_;
    tasks_[t].next = free_;
    free_ = t;
  }
  simulated_task& operator[](task_index t) noexcept { return tasks_[t]; }
  std::uint64_t alive() const noexcept { return alive_; }

 private:
  std::vector<simulated_task> tasks_;
  task_index free_ = no_task;
  std::uint64_t alive_ = 0;
};

/// Tasks in a row, linked through themselves.
class task_row {
 public:
  std::uint32_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  task_index front() const noexcept { return first_; }

  void push_back(task_pool& pool, task_index t) noexcept {
    pool[t].next = no_task;
    pool[t].previous = last_;
    (last_ == no_task ? first_ : pool[last_].next) = t;
    last_ = t;
    ++size_;
  }
  void push_front(task_pool& pool, task_index t) noexcept {
    pool[t].previous = no_task;
    pool[t].next = first_;
    (first_ == no_task ? last_ : pool[first_].previous) = t;
    first_ = t;
    ++size_;
  }
  task_index pop_front(task_pool& pool) noexcept {
    const task_index t = first_;
    if (t == no_task) return t;
    first_ = pool[t].next;
    (first_ == no_task ? last_ : pool[first_].previous) = no_task;
    --size_;
    return t;
  }
  /// Takes the first `count` tasks out, of as many at least.
  task_row split_front(task_pool& pool, std::uint32_t count) noexcept {
    task_row front;
    if (count == 0) return front;
    task_index last = first_;
    for (std::uint32_t i = 1; i < count; ++i) last = pool[last].next;
    front.first_ = first_;
    front.last_ = last;
    front.size_ = count;
    first_ = std::exchange(pool[last].next, no_task);
    (first_ == no_task ? last_ : pool[first_].previous) = no_task;
    size_ -= count;
    return front;
  }
  task_index pop_back(task_pool& pool) noexcept {
    const task_index t = last_;
    if (t == no_task) return t;
    last_ = pool[t].previous;
    (last_ == no_task ? first_ : pool[last_].next) = no_task;
    --size_;
    return t;
  }

 private:
  task_index first_ = no_task;
  task_index last_ = no_task;
  std::uint32_t size_ = 0;
};

} // namespace corewise::detail
