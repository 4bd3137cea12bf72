#include "worker/forks.hpp"
#include "worker/shared.hpp"

#include <utility>

// Destroys the tasks that are still queued or suspended when the engine has ended.

namespace corewise::detail {

namespace {

/// The engine whose tasks the calling thread is destroying.
thread_local const shared* dropping_of = nullptr;

} // namespace

/// Destroys what is queued, unrun. It takes as a thief does, since threads that are still in a task may push.
/// A task that is destroyed may wake others, so it goes round until nothing comes.
void shared::drop_queued() noexcept {
  if (dropping_of == this)
    return; // a task that is being destroyed has woken another: the next round finds it
  const shared* around = std::exchange(dropping_of, this);
  while (drop_round()) {
  }
  dropping_of = around;
  drains_.progress();
}

/// What a destroyed coroutine wakes is queued, and is destroyed after all have been looked at. No coroutine
/// suspends any more, so one look will do.
void shared::drop_suspended() noexcept {
  const shared* around = std::exchange(dropping_of, this);
  while (drop_round()) {
  }
  suspended_.withdraw_all([this](suspension& s) { drop(&s); });
  while (drop_round()) {
  }
  dropping_of = around;
  drains_.progress();
}

/// Takes nothing from an unbounded inbox while its worker still may.
task_header* shared::pop_inbox_of(worker& seat) noexcept {
  ingress& in = seat.queues().in;
  if (in.bounded()) return in.pop();
  if (!seat.has_left()) return nullptr;
  const std::scoped_lock lock(dropping_); // it has one consumer
  return in.pop();
}

void shared::drop(task_header* t) noexcept {
  const std::uint8_t phase = t->phase;
  if (!t->act(t, task_action::discard)) return; // a part of a task; other parts are left
  submitters_.mine().books.finished[phase].add();
  limit_.release();
  dropped_.fetch_add(1, std::memory_order_relaxed);
}

/// Drops all that is queued now. Returns whether there was anything.
bool shared::drop_round() noexcept {
  bool any = drop_timers();
  const auto drop = [&](task_header* t) {
    any = true;
    this->drop(t);
  };
  for (worker* seat : seats_) {
    worker_queues* q = &seat->queues();
    while (task_header* t = pop_inbox_of(*seat)) drop(t);
    if (q->in.bounded() && q->in.ready()) any = true; // no memory to take it out: once more
    if (seat->has_left() || q->takers.share()) {
      if (task_header* t = q->lifo.take()) drop(t);
      for (task_chain stolen = q->ring.steal(1); stolen.size != 0; stolen = q->ring.steal(1))
        drop(stolen.first);
    }
    while (task_header* t = steal_fork(*q)) drop(t);
  }
  for (injection_queue* injection : injection_) {
    while (task_header* t = injection->pop(1).first) drop(t);
    if (injection->size() != 0) any = true; // as above
  }
  for (const auto& domain : classes_)
    for (const task_class c : {task_class::latency, task_class::background})
      while (task_header* t = domain->of(c).pop()) drop(t);
  return any;
}

bool shared::drop_timers() noexcept {
  bool any = false;
  for (timer_group* timers : timer_groups_)
    while (const timer_node* t = timers->close()) {
      any = true;
      if (t->submits)
        t->task->act(t->task, task_action::discard); // it is not counted yet
      else
        drop(t->task);
    }
  return any;
}

/// Other threads may take from the seat's queues now, so it asks only what any thread may ask.
void shared::leave_ended(worker& seat) noexcept {
  const group_id g = seat.place().group;
  if (seat.queues().waiting() != 0 || !seat.queues().lifo.empty() || injection(g).size() != 0 ||
      classes(g).ready())
    drop_queued();
}

} // namespace corewise::detail
