#include "worker/shared.hpp"
#include "worker/task_event.hpp"
#include "worker/worker.hpp"

#include <corewise/policies/shared_work.hpp>

// The steps of a worker when it begins or ends to work, and when it looks at the clock.

namespace corewise::detail {

void worker::begin_work() noexcept {
  if (!std::exchange(noted_awake_, true)) engine_.threads().note_awake();
  const auto now = monotonic::now();
  report_.note_clock(now);
  tick_.begin(now, rules_in_force().settings.queues.budget);
  publishing_.begin_tick();
  if (!answers_.hold_for(engine_.board(place_.group).mean_task_time_ns()))
    note_task_time(); // else the answers of the end of work still hold
  report_.begin_work(now);
  lifo_.begin_work();
  // The worker has found nothing in the shared sources, or comes from there. A background task that waits
  // keeps its turn.
  const class_queue& background = supply_.classes().of(task_class::background);
  if (!background.waiting() || !background.ready()) plan_.begin_interval();
}

void worker::end_work() noexcept {
  if (!std::exchange(working_, false)) return;
  engine_.publish_load(place_);
  const auto now = monotonic::now();
  end_tick(now);
  report_.end_work(now);
}

void worker::look_at_clock() noexcept {
  const std::uint32_t budget = rules_in_force().settings.queues.budget;
  tick_.plan_look(budget);
  engine_.publish_load(place_);
  const auto now = monotonic::now();
  report_.note_clock(now);
  engine_.timers().look(*this, place_.group, now);
  const bool ends = tick_.ends(now, budget);
  if (ends) end_tick(now);
  if ((ends || queued_again_ != 0) && engine_.idle().drives()) [[unlikely]]
    poll_driver(place_.group);
}

void worker::end_tick(monotonic::time_point now) noexcept {
  tick_.end(now);
  engine_.timers().look_elsewhere(*this, place_.group, counts_.ticks.read(), now);
  counts_.ticks.add();
  if (recording()) [[unlikely]]
    record_worker(*this, event_code::load, load());
  renew_rules();
  const auto& injection = rules_in_force().settings.injection;
  plan_.set_interval(interval_of(injection.target_latency, tick_.average_ns(), injection.interval));
  note_task_time();
  engine_.publish_least_of(place_.group);
  tick_.begin(now, rules_in_force().settings.queues.budget);
  publishing_.begin_tick();
  engine_.drains().progress();
}

/// A worker that mostly runs one long producer would overestimate the tasks that it submits. So it expects
/// the group's average, if that is less: workers that run many tasks tell the group more often.
void worker::note_task_time() noexcept {
  const std::uint64_t own = tick_.average_ns();
  const std::uint64_t told = engine_.board(place_.group).mean_task_time_ns();
  if (worth_telling(told, own) &&
      engine_.board(place_.group).task_time_ns.exchange(own, std::memory_order_relaxed) < own)
    engine_.idle().notify_longer(place_.group);
  publishing_.set_task_time(own);
  queues().in.time(engine_.idle().stealing() &&
                   takes_oldest_first(rules_in_force().settings.queues.oldest_first, own));
  answers_.ask(*rules_in_force().placing, engine_.view(), {.group = place_.group, .worker = id()},
               std::min(own, told), engine_.board(place_.group).mean_task_time_ns());
}

} // namespace corewise::detail
