#include "worker/shared.hpp"
#include "worker/worker.hpp"

#include <corewise/policies/lifo_rules.hpp>

#include <pthread.h>

// Who sits on the seat, and whether anybody should: lending it, and retiring.

namespace corewise::detail {

namespace {

/// A blocking call of this length costs the others more than a spare thread does.
constexpr std::chrono::microseconds long_call{20};
/// One in so many short calls is timed.
constexpr std::uint32_t calls_to_timed = 8;

} // namespace

// --- lending

/// Sleepers are told of what waits here already; for what comes there is the supervisor. Where calls were long of late
/// and tasks wait, this one is taken for long too, and a spare thread is called at once.
std::uint64_t worker::lend() noexcept {
  counts_.blocking.add();
  slot_.owner.running.store(0, std::memory_order_relaxed);
  if (this_execution.root != nullptr)
    this_execution.root->last = this; // whence it goes on once it was suspended
  if (!queues_.next.empty())
    if (task_header* t = queues_.next.take()) store(t);
  const bool waited_for = queues_.ready() || classes_.ready();
  const bool in_haste = calls_are_long_ && (waited_for || engine_.injection(place().group).size() != 0);
  const bool timed = calls_are_long_ || ++calls_ % calls_to_timed == 0;
  lent_at_ = timed ? monotonic::now() : monotonic::time_point{};
  engine_.board(place().group).unavailable.set(index_in_group()); // B1, pairs: shown
  engine_.publish_load(place());
  this_execution.seat = nullptr;
  const std::uint64_t lending = generation_.lend(); // B2
  show_availability();                              // if the worker was called back just before
  if (waited_for) engine_.idle().pushed(id_);       // others can do what waits here
  if (in_haste && engine_.threads().offer(*this, lending)) return lending;
  if (!engine_.threads().attend()) static_cast<void>(engine_.threads().offer(*this, lending));
  return lending;
}

void worker::regain(std::uint64_t lending) noexcept {
  if (!generation_.regain(lending)) return;
  show_availability();
  this_execution.seat = this;
  slot_.owner.running.store(1, std::memory_order_relaxed);
  counts_.regained.add();
  if (lent_at_ != monotonic::time_point{}) calls_are_long_ = monotonic::now() - lent_at_ >= long_call;
}

bool worker::take(std::uint64_t lending) noexcept {
  if (!generation_.take(lending)) return false;
  show_availability();
  counts_.handed_over.add();
  calls_are_long_ = true;
  return true;
}

void worker::note_thread() noexcept {
  clockid_t clock{};
  ::pthread_getcpuclockid(::pthread_self(), &clock);
  thread_.store(::gettid(), std::memory_order_relaxed);
  thread_clock_.store(clock, std::memory_order_relaxed);
}

/// Whoever changes whose seat it is, or whether it is active, looks at the bit afterwards, and then at both again: so the
/// last one to write the bit has seen the last change. seq_cst, all of them.
void worker::show_availability() noexcept {
  worker_bits& unavailable = engine_.board(place().group).unavailable;
  const std::size_t index = index_in_group();
  const auto hidden = [&] { return !generation_.held() || !engine_.active(id_); };
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

// --- retiring

void worker::go_by_rules() noexcept {
  const profile::queues_section& queues = by().settings.queues;
  next_left_ = queues.lifo_cap;
  next_row_ = slot_row(queues.lifo_cap, queues.lifo_counts);
  resumptions_return_ = by().placing->returns();
  group_time_ns_.reset();
}

/// Between two tasks: from here on the newest rules hold.
void worker::keep_up() noexcept {
  if (!by_.take(engine_.newest_rules())) return;
  retired_ = !engine_.active(id_);
  go_by_rules();
  if (next_left_ == 0) leave_next();
  engine_.forget_old_rules();
}

/// There is no LIFO slot any more: what is in it would never have its turn.
void worker::leave_next() noexcept {
  task_header* t = queues_.next.take();
  if (t == nullptr) return;
  store(t);
  engine_.idle().pushed(id_);
}

/// A retired worker gives to others what it has and what is still sent to it; and what waits in its group's injection
/// queue, when nobody of the group is left, and in its domain's class queues, when nobody of the domain is. It may be called
/// back meanwhile, before the rules that say so can be seen: then it would send to itself for ever.
void worker::hand_over() noexcept {
  unannounced_ = false;
  const group_id own = place().group;
  if (task_header* t = queues_.next.take()) engine_.send_near(t, own);
  const auto send_all = [&](auto& queue) {
    while (!engine_.active(id_)) {
      task_header* t = queue.pop();
      if (t == nullptr) return;
      engine_.send_near(t, own);
    }
  };
  send_all(queues_.ring);
  send_all(queues_.in);
  send_all(queues_.forks);
  front_ends_ = queues_.ring.taken();
  engine_.publish_load(place());
  if (engine_.idle().injection_is_left(own)) {
    task_chain waiting = engine_.injection(own).pop(engine_.injection(own).size());
    while (task_header* t = waiting.pop()) engine_.send_near(t, own);
  }
  if (!engine_.idle().classes_are_left(engine_.groups()[own].domain)) return;
  for (const task_class c : {task_class::latency, task_class::background})
    for (std::uint32_t left = classes_.of(c).depth(); left > 0; --left)
      if (task_header* t = classes_.of(c).pop()) engine_.send_near(t, own, c);
}

} // namespace corewise::detail
