#pragma once

#include "worker/shared.hpp"

// How a task comes into a queue that is not the calling worker's, and how a worker's load is published.
// Inline where submission and routing pass it (ADR 0033).

namespace corewise::detail {

/// Sends a task to where a policy has placed it.
inline void shared::send(task_header* t, const placement& to, segment_writer* overflow) noexcept {
  if (to.injected && settings_.injection.scope != injection_scope::none) {
    if (overflow != nullptr) overflow->end_row();
    injection_[to.group.value]->push(t);
    idle_->notify_pushed(to.worker);
    return;
  }
  worker_bits& spinning = boards_[to.group.value]->spinning;
  const std::size_t index = index_in_group(to.worker);
  if (spinning.test(index)) spinning.claim(index); // so that the next submitter chooses another
  publish_one_more(layout_[to.worker]);
  send_to_inbox(t, to, overflow);
}

/// Sends a task to the worker's inbox, or to its group's injection queue if the inbox is full.
inline void shared::send_to_inbox(task_header* t, const placement& to, segment_writer* overflow) noexcept {
  if (!queues_[to.worker.value]->in.push(t)) {
    injection_queue& injection = *injection_[to.group.value];
    if (overflow != nullptr)
      overflow->push(injection, t);
    else
      injection.push(t);
  }
  idle_->notify_pushed(to.worker);
}

/// Sends a task to the queue of its class. The domain's workers take it from there.
inline void shared::send_to_class(task_header* t, group_id g, task_class c) noexcept {
  classes(g).of(c).push(t);
  idle_->notify_pushed(groups_[g].domain, c);
}

/// Publishes one task more than the last level, without a look at the board entry, which would take its cache
/// line away from the worker.
inline void shared::publish_one_more(const worker_place& w) noexcept {
  publish(w, next_level(boards_[w.group.value]->levels.at(index_in_group(w.id))));
}

/// Publishes a level. A retired worker attracts nothing, and its group is not the lighter for it.
inline void shared::publish(const worker_place& w, std::uint8_t level) noexcept {
  group_board& board = *boards_[w.group.value];
  const std::size_t index = index_in_group(w.id);
  const bool takes_part = index < board.active.load(std::memory_order_relaxed);
  publish_level(board, index, takes_part ? level : load_levels::no_worker,
                group_levels_ ? &*group_levels_ : nullptr, w.group);
}

} // namespace corewise::detail
