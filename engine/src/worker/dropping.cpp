#include "worker/dropping.hpp"

#include "base/clock.hpp"
#include "worker/forks.hpp"
#include "worker/shared.hpp"

#include <corewise/engine/future.hpp>

#include <utility>

namespace corewise::detail {

namespace {

/// The engine whose tasks the calling thread is destroying.
thread_local const dropping* dropping_of = nullptr;

/// The roots that were kept, of all engines: a leak checker finds their memory from here.
mutex keeping;
task_header* all_kept = nullptr; // guarded

/// The `act` of a root that was kept: nothing resumes or destroys it.
bool stay(task_header* /*t*/, task_action /*action*/) { return false; }

} // namespace

/// Takes as a thief does, since threads that are still in a task may push. A task that is destroyed may wake
/// others, so it goes round until nothing comes.
void dropping::drop_queued() noexcept {
  if (dropping_of == this)
    return; // a task that is being destroyed has woken another: the next round finds it
  const dropping* around = std::exchange(dropping_of, this);
  drop_all();
  dropping_of = around;
  engine_.drains().progress();
}

/// A coroutine that a destroyed one wakes is queued, and is destroyed after the look at all. No coroutine
/// suspends any more, so one look will do. A waker that has taken a coroutine out meanwhile needs a few steps
/// to queue it, in which it waits for no thread.
void dropping::drop_suspended() noexcept {
  const dropping* around = std::exchange(dropping_of, this);
  drop_all();
  engine_.idle().end_drivers();
  drop_all();
  engine_.suspended().withdraw_all(
      [this](suspension& s) { s.record->end == wait_end::settle ? keep(s) : drop(&s); });
  drop_all();
  while (engine_.suspended().any()) {
    sleep_for(std::chrono::microseconds{20});
    drop_all();
  }
  dropping_of = around;
  engine_.drains().progress();
}

void dropping::drop_all() noexcept {
  while (drop_round()) {
  }
}

/// Keeps the root to which the coroutine belongs, with all that awaits it, and counts it as finished. Its
/// future says that it did not run to its end.
void dropping::keep(suspension& s) noexcept {
  kept_[static_cast<std::size_t>(s.record->kind)].fetch_add(1, std::memory_order_relaxed);
  strand& root = join_point::top_of(*s.root);
  if (root.act == &stay) return; // for another of its coroutines
  root.act = &stay;
  {
    const std::scoped_lock lock(keeping);
    root.next = std::exchange(all_kept, &root);
  }
  engine_.release_one(s.phase);
  engine_.submitters().count_finished(s.phase);
  if (future_state* const f = root.future()) f->settle();
}

std::vector<suspended_in> dropping::kept() const {
  std::array<std::uint64_t, wait_kinds> coroutines{};
  for (std::size_t kind = 0; kind < wait_kinds; ++kind)
    coroutines[kind] = kept_[kind].load(std::memory_order_relaxed);
  return by_kind(coroutines);
}

/// Takes nothing from an unbounded inbox while its worker still may.
task_header* dropping::pop_inbox_of(worker& seat) noexcept {
  ingress& in = seat.queues().in;
  if (in.bounded()) return in.pop();
  if (!seat.lender().has_left()) return nullptr;
  const std::scoped_lock lock(inboxes_); // it has one consumer
  return in.pop();
}

void dropping::note_dropped() noexcept { dropped_.fetch_add(1, std::memory_order_relaxed); }

void dropping::drop(task_header* t) noexcept {
  const std::uint8_t phase = t->phase;
  if (!t->act(t, task_action::discard)) return; // a part of a task; other parts are left
  engine_.release_one(phase);
  engine_.submitters().count_finished(phase);
  note_dropped();
}

/// Drops all that is queued now. Returns whether there was anything.
bool dropping::drop_round() noexcept {
  bool any = drop_timers();
  const auto drop = [&](task_header* t) {
    any = true;
    this->drop(t);
  };
  for (const worker_place& place : engine_.layout().workers()) {
    worker& seat = engine_.seat(place.id);
    worker_queues& q = seat.queues();
    while (task_header* t = pop_inbox_of(seat)) drop(t);
    if (q.in.bounded() && q.in.ready()) any = true; // no memory to take it out: once more
    if (seat.lender().has_left() || q.takers.share()) {
      if (task_header* t = q.lifo.take()) drop(t);
      for (task_chain stolen = q.ring.steal(1); stolen.size != 0; stolen = q.ring.steal(1))
        drop(stolen.first);
    }
    while (task_header* t = steal_fork(q)) drop(t);
  }
  for (const locality_group& g : engine_.groups().groups()) {
    injection_queue& injection = engine_.injection(g.id);
    while (task_header* t = injection.pop(1).first) drop(t);
    if (injection.size() != 0) any = true; // as above
    for (const task_class c : {task_class::latency, task_class::background}) {
      class_queue& of_class = engine_.classes(g.id).of(c);
      while (task_header* t = of_class.pop()) drop(t);
      if (of_class.ready()) any = true; // as above
    }
  }
  return any;
}

bool dropping::drop_timers() noexcept {
  bool any = false;
  for (timer_group* timers : engine_.timers().groups())
    while (timer_node* t = timers->close()) {
      any = true;
      if (!resumes(*t)) continue; // its thread is still in a task
      if (t->submits)
        t->task->act(t->task, task_action::discard); // it is not counted yet
      else
        drop(t->task);
    }
  return any;
}

/// Other threads may take from the seat's queues now, so it asks only what any thread may ask.
void dropping::drop_rest_of(worker& seat) noexcept {
  const group_id g = seat.place().group;
  if (seat.queues().waiting() != 0 || !seat.queues().lifo.empty() || engine_.injection(g).size() != 0 ||
      engine_.classes(g).ready())
    drop_queued();
}

} // namespace corewise::detail
