#include "worker/shared.hpp"
#include "worker/worker.hpp"

#include <cassert>

// How tasks come into the worker's own slot and ring, and how a coroutine gives way to another.

namespace corewise::detail {

void worker::push_lifo(task_header* t) noexcept {
  if (!lifo_.has_slot()) return push(t);
  // A push into an empty slot wakes no worker: this worker takes the task next.
  task_header* evicted = queues().lifo.put(t);
  note_pushed();
  if (evicted == nullptr) return;
  supply_.push(evicted);
  engine_.idle().notify_pushed(id());
}

void worker::push(task_header* t) noexcept {
  supply_.push(t);
  note_pushed();
  engine_.idle().notify_pushed(id());
}

void worker::note_pushed() noexcept {
  counts_.pushed.add();
  if (publishing_.due_at_push(counts_.pushed.read())) engine_.publish_load(place_);
}

std::uint32_t worker::load() const noexcept { return engine_.view().load(entry_).total(); }

// --- giving way

/// Does what a round of the loop would do with the oldest task of the ring, if that is a coroutine, without
/// going back to the loop (ADR 0017).
[[gnu::always_inline]] inline std::coroutine_handle<> worker::give_way(task_header& waits) noexcept {
  task_header* t = &waits;
  // Whether the loop would take the oldest task of the ring, and do nothing else before.
  const bool may_rotate = !others_are_due() && !tick_.look_comes_next() && !publishing_.due_at_task() &&
                          supply_.queues().forks.empty();
  if (!may_rotate || !queues().ring.exchange_oldest(t)) [[unlikely]]
    return push_yielded(t), std::noop_coroutine();
  // A thief came between. It may have left nothing but this task, of which no other worker was told.
  if (t == nullptr) [[unlikely]]
    return supply_.note_yielded_alone(), std::noop_coroutine();
  lifo_.count_other();
  coroutine_root* root = nullptr;
  std::coroutine_handle<> frame;
  if (t->act == &coroutine_root::perform) {
    root = static_cast<coroutine_root*>(t);
    frame = root->frame();
  } else if (t->act == &resumption::perform) {
    root = static_cast<resumption*>(t)->root;
    frame = static_cast<resumption*>(t)->frame;
  }
  if (root == nullptr || t->phase != this_execution.phase || t->queued_at != 0 || recording()) {
    plan_.count_turn(); // the loop counts the rest
    rotated_ = t;
    return std::noop_coroutine();
  }
  count_turn();
  counts_.executed.add();
  this_execution.root = root;
  return transfer_to(frame);
}

namespace {

[[gnu::always_inline]] inline std::coroutine_handle<>
give_way_to_others(task_header& waits, const coroutine_root& root) noexcept {
  worker* const seat = this_execution.seat;
  if (seat != nullptr && seat->resumes_here(root)) [[likely]]
    return seat->give_way(waits);
  root.last->engine().send_home(&waits, root);
  return std::noop_coroutine();
}

} // namespace

std::coroutine_handle<> resumption::give_way() noexcept { return give_way_to_others(*this, *root); }

std::coroutine_handle<> coroutine_root::give_way() noexcept {
  assert(phase == this_execution.phase);
  if (this_execution.seat != nullptr) last = this_execution.seat;
  return give_way_to_others(*this, *this);
}

} // namespace corewise::detail
