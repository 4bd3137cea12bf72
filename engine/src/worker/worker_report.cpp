#include "worker/worker_report.hpp"

#include "worker/shared.hpp"
#include "worker/worker.hpp"

#include <corewise/engine/detail/execution.hpp>

#include <pthread.h>
#include <unistd.h>

#include <utility>

namespace corewise::detail {

void worker_report::note_thread() noexcept {
  clockid_t clock{};
  ::pthread_getcpuclockid(::pthread_self(), &clock);
  thread_.store(::gettid(), std::memory_order_relaxed);
  thread_clock_.store(clock, std::memory_order_relaxed);
}

const char* worker_report::task_kind() const noexcept {
  const act_function act = act_.load(std::memory_order_relaxed);
  if (act == nullptr) return nullptr;
  act(nullptr, task_action::identify);
  return std::exchange(this_execution.kind, nullptr);
}

std::chrono::nanoseconds worker_report::task_age() const noexcept {
  return std::chrono::nanoseconds{monotonic::now().time_since_epoch().count() -
                                  clock_ns_.load(std::memory_order_relaxed)};
}

std::optional<std::chrono::nanoseconds> worker_report::busy_for() const noexcept {
  const std::int64_t since = busy_since_ns_.load(std::memory_order_relaxed);
  if (since == 0) return std::nullopt;
  return std::chrono::nanoseconds{monotonic::now().time_since_epoch().count() - since};
}

worker_metrics worker::metrics() const noexcept {
  const worker_queues& own = supply_.queues();
  worker_metrics m;
  m.worker = id();
  m.group = place_.group;
  m.overflowed = counts_.overflowed.read();
  m.placed = counts_.pushed.read() + own.in.put() - (engine_.injects() ? 0 : m.overflowed);
  m.forked = counts_.forked.read();
  m.in_place = counts_.in_place.read();
  m.leapfrogged = counts_.leapfrogged.read();
  m.executed = counts_.executed.read();
  m.expired = counts_.expired.read();
  m.ticks = counts_.ticks.read();
  m.lifo_runs = counts_.lifo_runs.read();
  m.latency_runs = counts_.of_class[0].read();
  m.background_runs = counts_.of_class[1].read();
  m.active = engine_.active(id()) ? 1 : 0;
  m.load =
      own.waiting() + (own.lifo.empty() ? 0U : 1U) + entry_.owner.running.load(std::memory_order_relaxed);
  for (std::size_t l = 0; l < level_count; ++l) m.stolen[l] = counts_.stolen[l].read();
  m.injected = counts_.injected.read();
  m.spilled = counts_.spilled.read();
  m.regained_seats = counts_.regained.read();
  m.handed_over_seats = counts_.handed_over.read();
  m.blocking_calls = counts_.blocking.read();
  m.busy = std::chrono::nanoseconds{static_cast<std::int64_t>(counts_.busy_ns.read())} +
           report_.busy_for().value_or(std::chrono::nanoseconds{0});
  return m;
}

} // namespace corewise::detail
