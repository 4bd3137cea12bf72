#include "worker/shared.hpp"
#include "worker/task_event.hpp"
#include "worker/worker.hpp"

// Lending the seat for calls that may block.

namespace corewise::detail {

/// Tells sleepers of what waits here already; the supervisor looks after what comes. Where calls were long of
/// late and tasks wait, or events may come, the worker expects this one to be long too, and calls a spare thread at once.
std::uint64_t worker::lend() noexcept {
  worker_queues& own = queues();
  counts_.blocking.add();
  if (recording()) [[unlikely]]
    record_worker(*this, event_code::blocking);
  entry_.owner.running.store(0, std::memory_order_relaxed);
  if (this_execution.root != nullptr)
    this_execution.root->last = this; // where it goes on once it was suspended
  if (!own.lifo.empty())
    if (task_header* t = own.lifo.take()) supply_.push(t);
  const bool waited_for = own.ready() || supply_.classes().ready();
  const bool in_haste =
      lender_.expects_long_call() &&
      (waited_for || engine_.injection(place_.group).size() != 0 || engine_.idle().outstanding(place_.group));
  lender_.begin_call();
  worker_bits& unavailable = engine_.board(place_.group).unavailable;
  const std::size_t index = engine_.index_in_group(id());
  unavailable.set(index); // B1, pairs: shown
  engine_.publish_load(place_);
  this_execution.seat = nullptr;
  const std::uint64_t lending = lender_.lend();                         // B2
  if (!unavailable.test(index, std::memory_order_seq_cst)) [[unlikely]] // pairs: shown
    show_availability(*this);                         // the worker was called back just before
  if (waited_for) engine_.idle().notify_pushed(id()); // other workers can do what waits here
  if (in_haste && engine_.threads().offer(*this, lending)) return lending;
  if (!engine_.threads().attend()) static_cast<void>(engine_.threads().offer(*this, lending));
  return lending;
}

void worker::regain(std::uint64_t lending) noexcept {
  if (recording()) [[unlikely]]
    record_worker(*this, event_code::unblocked);
  if (!lender_.regain(lending)) return;
  show_availability(*this);
  this_execution.seat = this;
  entry_.owner.running.store(1, std::memory_order_relaxed);
  counts_.regained.add();
  lender_.end_call();
}

bool worker::take(std::uint64_t lending) noexcept {
  if (!lender_.take(lending)) return false;
  show_availability(*this);
  counts_.taken.add();
  return true;
}

/// A thread that lends, takes or retires the seat looks at the bit afterwards, and then at seat and board
/// again. So the last thread to write the bit has seen the last change. seq_cst, all of them.
void show_availability(worker& seat) noexcept {
  shared& engine = seat.engine();
  worker_bits& unavailable = engine.board(seat.place().group).unavailable;
  const std::size_t index = engine.index_in_group(seat.id());
  const auto hidden = [&] { return !seat.lender().held() || !engine.active(seat.id()); };
  bool hide = false;
  do {
    hide = hidden();
    if (unavailable.test(index, std::memory_order_seq_cst) == hide) continue; // pairs: shown
    if (hide)
      unavailable.set(index); // pairs: shown
    else
      unavailable.claim(index); // pairs: shown
  } while (hide != hidden());
}

} // namespace corewise::detail
