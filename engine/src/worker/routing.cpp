#include "worker/routing.hpp"

namespace corewise::detail {

void shared::publish_load(const worker_place& w) noexcept {
  publish(w, load_level(view_->load(w.group, index_in_group(w.id)).total()));
}

/// The policy says whether the task goes to its last worker or to the injection queue.
void shared::send_home(task_header* t, const coroutine_root& root) noexcept {
  if (after_process_fork()) return; // no thread comes for it, and locks may be held for ever
  if (root.run_as != task_class::normal) return send_home_by_class(t, root);
  const worker_id last = root.last->id();
  const worker_id to = active(last) ? last : active_near(layout_[last].group);
  const bool injected = !resumptions_return_.load(std::memory_order_relaxed);
  send(t, {.worker = to, .group = layout_[to].group, .injected = injected});
  if (ended())
    dropping_.drop_queued(); // no worker comes for it; the fence of `pushed` and that of `stop` order this
}

/// Sends a task to the calling worker's domain, or from elsewhere to that of the worker that it ran on last.
void shared::send_home_by_class(task_header* t, const coroutine_root& root) noexcept {
  const worker* seat = this_execution.seat;
  if (seat == nullptr || &seat->engine() != this) seat = root.last;
  const group_id g = seat->place().group;
  send_to_class(t,
                idle_->retired().classes_are_orphaned(groups_[g].domain) ? layout_[active_near(g)].group : g,
                root.run_as);
  if (ended()) dropping_.drop_queued(); // as above
}

// --- what retired workers leave

worker_id shared::active_near(group_id g) noexcept {
  for (;;) // some worker is active always, but this may be the moment between two
    for (const group_id near : groups_[g].steal_order)
      if (const std::uint32_t workers = active_in(near); workers != 0)
        return layout_.of_group(near)[turn_.fetch_add(1, std::memory_order_relaxed) % workers].id;
}

void shared::send_near(task_header* t, group_id g) noexcept {
  const worker_place& to = layout_[active_near(g)];
  publish_one_more(to);
  send_to_inbox(t, {.worker = to.id, .group = to.group});
}

void shared::send_near(task_header* t, group_id g, task_class c) noexcept {
  send_to_class(t, layout_[active_near(g)].group, c);
}

} // namespace corewise::detail
