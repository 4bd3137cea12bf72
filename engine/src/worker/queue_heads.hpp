#pragma once

#include "books/head_watch.hpp"
#include "worker/shared.hpp"

namespace corewise::detail {

/// Calls f with the head of each queue, always in the same order: of workers, groups and classes. Tasks in LIFO
/// slots and forks are in none. Call from any thread.
template <class F> void for_each_head(const shared& engine, const F& f) {
  for (const worker_place& w : engine.layout().workers()) {
    const worker_queues& own = engine.seat(w.id).queues();
    f(queue_head{std::uint64_t{own.ring.size()} + own.in.size(),
                 std::uint64_t{own.ring.taken()} << 32 | own.in.taken()});
  }
  for (const locality_group& g : engine.groups().groups()) {
    const injection_queue& own = engine.group(g.id).injection();
    f(queue_head{own.size(), own.taken()});
  }
  for (const std::vector<group_id>& domain : engine.groups().domains())
    for (const task_class c : {task_class::latency, task_class::background}) {
      const class_queue& of = engine.classes(domain.front()).of(c);
      const std::uint64_t waiting = of.depth();
      f(queue_head{waiting, of.placed() - waiting});
    }
}

} // namespace corewise::detail
