#include "base/thread_end.hpp"
#include "books/sampling.hpp"
#include "memory/page_nodes.hpp"
#include "runtime/runtime.hpp"
#include "worker/routing.hpp"

#include <corewise/policies/origin.hpp>

#include <memory>
#include <new>
#include <optional>
#include <utility>

// The way in of a task: the engine accepts or refuses it and counts it. The policy places it, and a queue
// takes it. Then the load of the queue is published. A task that goes on after a wait takes the second half
// of this way.

namespace corewise {

using detail::this_execution;

/// A task on its way in. Its destructor destroys the task unless a queue has taken it over.
class runtime::arriving_task {
 public:
  explicit arriving_task(task_header* t) noexcept : task_(t) {}
  arriving_task(const arriving_task&) = delete;
  arriving_task& operator=(const arriving_task&) = delete;
  ~arriving_task() {
    if (task_ != nullptr) task_->act(task_, task_action::discard);
  }
  task_header* release() noexcept { return std::exchange(task_, nullptr); }

 private:
  task_header* task_;
};

namespace {

// A block, as thread-local memory is scarce in a module of `dlopen`.
constinit thread_local detail::page_nodes* pages = nullptr;
constinit detail::thread_end forgetting_pages([] { delete std::exchange(pages, nullptr); });

/// Returns the operating system's number of the node of an address, or nothing if it is unknown.
std::optional<std::uint32_t> node_of(const void* address) noexcept {
  if (pages == nullptr) {
    std::unique_ptr<detail::page_nodes> made(new (std::nothrow) detail::page_nodes);
    if (made == nullptr || !forgetting_pages.note()) return node_of_page(address);
    pages = made.release();
  }
  return pages->node_of(address, detail::monotonic::now());
}

/// Returns whether the hint wishes nothing. Mostly it is the default hint.
bool plain(const hint& wish) noexcept { return &wish == &no_hint || wish.plain(); }

} // namespace

/// Returns whether the engine takes a submission. Tasks may submit until the engine has ended: a shutdown
/// waits for them. Other submitters may not submit once the shutdown has begun.
inline bool runtime::open_to(bool inside) const noexcept {
  const stage at = now();
  return at == stage::open || (inside && at == stage::closing);
}

/// Returns the phase of what a task of that phase submits: its own; of what a daemon submits, the open one.
inline std::uint8_t runtime::phase_for_children(std::uint8_t own) const noexcept {
  if (own == detail::daemon_phase) [[unlikely]]
    return drains_.open_phase();
  return own;
}

inline submit_result runtime::admit(bool inside, bool may_wait) {
  if (open_to(inside) && limit_.admit()) [[likely]]
    return submit_result::accepted;
  return wait_or_refuse(inside, may_wait);
}

/// Accepts the task and takes it from `held`, or leaves it there.
[[gnu::always_inline]] inline submit_result runtime::take_in(arriving_task& held, const hint& wish,
                                                             bool may_wait) {
  const detail::execution& here = this_execution;
  const bool inside = here.engine == this;
  if (detail::worker* seat = inside ? here.seat : nullptr) {
    if (const submit_result in = admit(inside, may_wait); in != submit_result::accepted) return in;
    task_header* t = held.release();
    t->phase = phase_for_children(here.phase);
    seat->books().submitted[t->phase].add();
    detail::note_queued(*t, number());
    place_from_seat(*seat, t, wish);
    return submit_result::accepted;
  }
  if (after_process_fork()) return submit_result::stopping; // it might wait for the lock of the submitters
  if (wish.address != nullptr) return take_in_near(held, wish, may_wait);
  detail::submitter& me = submitters_.mine();
  std::uint8_t phase = here.phase;
  if (const submit_result in = admit_without_seat(me, inside, may_wait, phase); in != submit_result::accepted)
    return in;
  task_header* t = held.release();
  t->phase = phase;
  place_admitted(me, t, wish);
  return submit_result::accepted;
}

submit_result runtime::accept(task_header* arriving, const hint& wish, bool may_wait) {
  arriving_task held(arriving);
  return take_in(held, wish, may_wait);
}

submit_result runtime::offer(detail::unbegun_task& offered, const hint& wish) {
  arriving_task held(offered.release());
  const submit_result in = take_in(held, wish, /*may_wait=*/true);
  offered.reset(held.release());
  return in;
}

submit_result runtime::offer_daemon(detail::unbegun_task& offered, const hint& wish) {
  if (after_process_fork()) return submit_result::stopping;
  const hint placed = wish.address != nullptr ? with_node(wish) : wish;
  const bool inside = this_execution.engine == this;
  detail::submitter& me = submitters_.mine();
  if (!open_to(inside)) return refuse_stopping();
  me.books.submitted[detail::daemon_phase].add();
  me.by.announce(rules_);
  if (closed_meanwhile() && !inside) {
    me.by.let_go();
    me.books.finished[detail::daemon_phase].add();
    drains_.progress();
    return refuse_stopping();
  }
  task_header* t = offered.release();
  t->phase = detail::daemon_phase;
  place_admitted(me, t, placed);
  return submit_result::accepted;
}

submit_result runtime::take_in_near(arriving_task& held, const hint& wish, bool may_wait) {
  return take_in(held, with_node(wish), may_wait);
}

/// Counts a task that comes in: in the phase of the task that submits it, or else in the open phase. Puts
/// that phase into `phase`.
submit_result runtime::admit_without_seat(detail::submitter& me, bool inside, bool may_wait,
                                          std::uint8_t& phase) {
  if (const submit_result in = admit(inside, may_wait); in != submit_result::accepted) return in;
  phase = inside ? phase_for_children(phase) : drains_.open_phase();
  me.books.submitted[phase].add();
  me.by.announce(rules_);
  if (!closed_meanwhile() || inside) return submit_result::accepted;
  me.by.let_go();
  me.books.finished[phase].add();
  limit_.release();
  drains_.progress();
  return refuse_stopping();
}

void runtime::place_admitted(detail::submitter& me, task_header* t, const hint& wish) noexcept {
  detail::note_queued(*t, number());
  const detail::rules* announced = me.by.get(); // a thread that looked meanwhile has left them to this one
  place_from_outside(me, me.by.confirm(rules_), t, wish);
  me.by.let_go();
  if (announced != rules_.newest()) forget_old_rules();
}

/// The coroutine ends as a task of the engine that the calling thread belongs to. That engine books it out
/// when the thread comes back to `execute`. By then the coroutine has come in here. After that it may run
/// already.
bool runtime::take_over(detail::resumption& coroutine) {
  if (after_process_fork()) return false;
  detail::submitter& me = submitters_.mine();
  detail::coroutine_root& root = *coroutine.root;
  std::uint8_t phase = 0;
  if (admit_without_seat(me, false, false, phase) != submit_result::accepted) return false;
  root.engine = this;
  root.phase = coroutine.phase = phase;
  root.last = seats_.front(); // until the coroutine suspends here
  this_execution.root_ended = true;
  place_admitted(me, &coroutine, {.run_as = root.run_as});
  return true;
}

submit_result runtime::wait_or_refuse(bool inside, bool may_wait) {
  if (!open_to(inside)) return refuse_stopping();
  const auto waits = [&] { return waits_when_full_.load(std::memory_order_relaxed); };
  // A task of any engine never waits: two full engines could deadlock. Nor does a hook on the supervisor's thread: what
  // makes room may need that.
  if (may_wait && waits() && this_execution.engine == nullptr && !supervisor_.is_this_thread()) {
    if (limit_.wait_and_admit([&] { return open_to(false) && waits(); })) return submit_result::accepted;
    if (!open_to(false)) return refuse_stopping();
  }
  rejected_.fetch_add(1, std::memory_order_relaxed);
  return submit_result::full;
}

submit_result runtime::refuse_stopping() noexcept {
  refused_stopping_.fetch_add(1, std::memory_order_relaxed);
  return submit_result::stopping;
}

void runtime::place_from_seat(detail::worker& seat, task_header* t, const hint& wish) noexcept {
  if (plain(wish) && seat.keeps_submitted()) return seat.push_lifo(t);
  place_by_policy(seat, t, wish);
}

void runtime::place_by_policy(detail::worker& seat, task_header* t, const hint& wish) noexcept {
  if (wish.address != nullptr) return place_from_seat(seat, t, with_node(wish));
  load_view view = *view_;
  view.task_time_ns = seat.task_time_ns();
  const placement to = seat.rules_in_force().placing->place(
      view, {.group = seat.place().group, .worker = seat.id()}, wish, seat.rng(), seat.cursor());
  if (to.level > level::same_domain) seat.counts().spilled.add();
  if (wish.run_as != task_class::normal) return send_to_class(t, to.group, t->run_as = wish.run_as);
  if (!to.injected && to.worker == seat.id()) {
    seat.push_lifo(t);
    return;
  }
  send(t, to);
}

void runtime::place_from_outside(detail::submitter& from, const detail::rules& by, task_header* t,
                                 const hint& wish) noexcept {
  const std::optional<std::uint32_t> cpu = machine_.is_this_system() ? this_cpu() : std::nullopt;
  if (plain(wish) && from.last.holds(cpu, *view_)) return send_to_inbox(t, from.last.take(), &from.overflow);
  const task_origin origin = origin_from_outside(groups_, layout_, cpu, from.rng);
  load_view view = *view_;
  view.task_time_ns = board(origin.group).mean_task_time_ns();
  const placement to = by.placing->place(view, origin, wish, from.rng, from.cursor);
  if (wish.run_as != task_class::normal) return send_to_class(t, to.group, t->run_as = wish.run_as);
  from.last.note(to, cpu);
  send(t, to, &from.overflow);
}

/// Returns the hint with the address's node in place of the address.
hint runtime::with_node(const hint& wish) noexcept {
  hint found = wish;
  found.address = nullptr;
  if (found.node) return found;
  if (!machine_.is_this_system()) {
    if (!near_warned_.exchange(true, std::memory_order_relaxed))
      notices_.try_warn_once(log_code::hint_without_effect, "a hint near an address has no effect",
                             "the engine runs for a described machine");
    return found;
  }
  if (near_nodes_.one()) return found;
  if (const auto os_index = node_of(wish.address)) found.node = near_nodes_.standing_for(*os_index);
  return found;
}

void runtime::wake(detail::resumption& coroutine) noexcept {
  detail::note_queued(coroutine, number());
  detail::worker* seat = this_execution.engine == this ? this_execution.seat : nullptr;
  if (seat != nullptr && seat->resumes_here(*coroutine.root)) return seat->push_lifo(&coroutine);
  send_woken(coroutine);
}

void runtime::wake_behind(detail::resumption& coroutine) noexcept {
  detail::note_queued(coroutine, number());
  detail::worker* seat = this_execution.engine == this ? this_execution.seat : nullptr;
  if (seat != nullptr && seat->resumes_here(*coroutine.root)) return seat->push(&coroutine);
  send_woken(coroutine);
}

/// The waker says so: from the moment at which the coroutine is queued nothing but that keeps the engine. Without
/// memory for its record it says nothing. Where a coroutine that it destroys wakes another one, it has said so.
class runtime::waking {
 public:
  explicit waking(runtime& of) noexcept {
    if (this_execution.engine == &of) return;
    try {
      detail::submitter& mine = of.submitters_.mine();
      if (mine.wakes.load(std::memory_order_relaxed)) return;
      mine.wakes.store(true, std::memory_order_relaxed); // published by the queue, or the lock of the timers
      me_ = &mine;
    } catch (const std::bad_alloc&) {
      return;
    }
  }
  waking(const waking&) = delete;
  waking& operator=(const waking&) = delete;
  ~waking() {
    if (me_ != nullptr) me_->wakes.store(false, std::memory_order_release); // pairs: left
  }

 private:
  detail::submitter* me_ = nullptr; // null: it needs not say so
};

void runtime::send_woken(detail::resumption& coroutine) noexcept {
  const waking here(*this);
  send_home(&coroutine, *coroutine.root);
}

/// Without the timer the engine knows nothing of the coroutine, until it is queued.
void runtime::stop_sleep(detail::timer_node& t, detail::resumption& sleeper) noexcept {
  if (after_process_fork()) return; // the parent's locks may be held for ever
  const waking here(*this);
  if (cancel_timer(t)) wake(sleeper);
}

void runtime::fork_to(detail::coroutine_root& child, group_id to) noexcept {
  detail::worker* const seat = this_execution.seat;
  if (seat == nullptr || child.run_as != task_class::normal) return send_home(&child, child);
  place_from_seat(*seat, &child, {.group = to});
  if (ended()) dropping_.drop_queued(); // no worker comes for the task
}

void runtime::give_way(detail::coroutine_root& t) noexcept {
  detail::worker* const seat = this_execution.seat;
  if (seat == nullptr || !seat->resumes_here(t)) return send_home(&t, t);
  seat->push_yielded(&t);
}

void runtime::place_again(detail::resumption& coroutine, const hint& wish) noexcept {
  coroutine.root->run_as = wish.run_as;
  detail::note_queued(coroutine, number());
  detail::worker* seat = this_execution.seat;
  if (seat == nullptr) return send_home(&coroutine, *coroutine.root);
  place_from_seat(*seat, &coroutine, wish);
  if (ended()) dropping_.drop_queued(); // no worker comes for the task
}

} // namespace corewise
