#include "books/sampling.hpp"
#include "runtime/runtime.hpp"
#include "worker/task_label.hpp"

#include <corewise/engine/detail/driving.hpp>

// The functions for a layer above that has drivers for the groups of an engine.

namespace corewise {

using detail::this_execution;

bool runtime::attach(std::vector<std::shared_ptr<driver>> drivers) {
  bool calls = false;
  {
    const std::scoped_lock lock(apply_mutex_);
    if (now() != stage::open || !idle_->attach(std::move(drivers))) return false;
    calls = supervisor_.set(rules_.newest()->settings); // it watches drivers from now on
  }
  if (calls) supervisor_.call();
  return true;
}

/// The task comes from a thread of the engine, or from one that gives up an operation.
void runtime::go_on(task_header* t, group_id g) noexcept {
  if (after_process_fork()) return static_cast<void>(t->act(t, task_action::discard));
  detail::worker* const seat = this_execution.engine == this ? this_execution.seat : nullptr;
  detail::note_queued(*t, number());
  limit_.admit_anyway();
  t->phase = drains_.open_phase();
  if (seat != nullptr)
    seat->books().submitted[t->phase].add();
  else
    submitters_.count_submitted(t->phase);
  if (t->run_as != task_class::normal)
    send_near(t, g, t->run_as);
  else if (seat != nullptr && seat->place().group == g)
    seat->push(t);
  else
    send_near(t, g);
  if (ended()) dropping_.drop_queued(); // no worker comes for it
}

namespace detail {

bool driving::attach(engine& e, std::vector<std::shared_ptr<driver>> drivers) {
  return of(e).attach(std::move(drivers));
}

runtime& driving::of(engine& e) noexcept { return *e.runtime_; }

bool driving::set_timer(timer_node& t, resumption& fires, std::chrono::nanoseconds within) noexcept {
  runtime& e = *fires.root->engine;
  if (e.after_process_fork()) return false;
  const std::int64_t now = monotonic::now().time_since_epoch().count();
  t.task = &fires;
  t.group = e.timer_home(fires).value;
  t.deadline_ns = timer_group::later(now, std::max<std::int64_t>(0, within.count()));
  return e.timers().set(t, now) != timer_group::outcome::closed;
}

bool driving::cancel_timer(timer_node& t, const resumption& fires) noexcept {
  return fires.root->engine->cancel_timer(t);
}

void driving::begun(runtime& e, group_id g) noexcept {
  if (this_execution.engine != &e) e.idle().operation_begun(g);
}

submit_result driving::submit(runtime& e, task_header* t, const hint& wish) {
  return e.accept(t, wish, /*may_wait=*/false);
}

submit_result driving::offer(runtime& e, unbegun_task& t, const hint& wish) { return e.offer(t, wish); }

bool driving::has_room(const runtime& e) noexcept { return e.has_room(); }

task_header* driving::named(runtime& e, task_header* t, const char* name) noexcept {
  unbegun_task made(t);
  try {
    return with_label(made, {.name = name}, e).release();
  } catch (const std::bad_alloc&) {
    return made.release(); // dumps do without its name
  }
}

void driving::go_on(runtime& e, task_header* t, group_id g) noexcept { e.go_on(t, g); }

void driving::warn_once(runtime& e, log_code code, const char* what, std::string_view why) noexcept {
  e.notices().try_warn_once(code, what, why);
}

bool driving::others_wait(const coroutine_root& of) noexcept {
  const execution& here = this_execution;
  return here.engine == of.engine && here.seat != nullptr && here.seat->resumes_here(of) &&
         !here.seat->queues().ring.nothing_waits();
}

void driving::queue_behind(resumption& coroutine) noexcept { this_execution.seat->queue_again(coroutine); }

std::optional<group_id> driving::running_in(const runtime& e) noexcept {
  const execution& here = this_execution;
  if (here.engine != &e || here.seat == nullptr) return std::nullopt;
  return here.seat->place().group;
}

group_id driving::nearest(const runtime& e) noexcept { return nearest(e, e.group_here()); }

group_id driving::nearest(const runtime& e, group_id g) noexcept {
  for (const group_id near : e.groups()[g].steal_order)
    if (!e.layout().of_group(near).empty()) return near;
  return g;
}

std::uint64_t driving::capacity_now(const runtime& e, group_id g) noexcept {
  return e.active_in(g) * e.group(g).at_speed(e.groups()[g].capacity);
}

std::chrono::nanoseconds driving::busy(const runtime& e, group_id g) noexcept {
  std::chrono::nanoseconds sum{0};
  for (const worker_place& place : e.layout().of_group(g)) sum += e.seat(place.id).report().busy();
  return sum;
}

} // namespace detail

} // namespace corewise
