#include "memory/block_memory.hpp"
#include "runtime/runtime.hpp"
#include "worker/lent_seats.hpp"

#include <corewise/engine/metrics.hpp>
#include <corewise/engine/profile_text.hpp>

#include <boost/crc.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

// Reads the numbers of all parts.

namespace corewise {

namespace {

std::string hash_of(const std::string& text) {
  boost::crc_32_type sum;
  sum.process_bytes(text.data(), text.size());
  return fmt::format("{:08x}", sum.checksum());
}

void count_in(metrics_snapshot& m, const detail::block_memory& memory) noexcept {
  m.memory_blocks_held_bytes = memory.held_bytes;
  m.memory_blocks_used_bytes = memory.used_bytes;
  m.memory_pages_refused = memory.refused_pages;
}

void count_in(metrics_snapshot& m, const detail::timer_group::counts& timers) noexcept {
  m.timers_pending += timers.pending;
  m.timers_fired += timers.fired;
  m.timers_cancelled += timers.cancelled;
}

/// Of a domain's two.
void count_in(metrics_snapshot& m, const detail::class_queue& latency,
              const detail::class_queue& background) noexcept {
  m.latency_queued += latency.depth();
  m.background_queued += background.depth();
  m.latency_placed += latency.placed();
  m.background_placed += background.placed();
}

void count_in(metrics_snapshot& m, const detail::blocking_limit::counts& calls) noexcept {
  m.blocking_calls_running = calls.running;
  m.blocking_calls_waiting = calls.waiting;
  m.blocking_calls_waited = calls.waited;
  m.blocking_calls_refused = calls.refused;
}

} // namespace

detail::host_usage::seen runtime::look_at_host(detail::monotonic::time_point now) const {
  std::vector<pid_t> threads;
  for (const detail::worker* seat : seats_) threads.push_back(seat->report().thread());
  return host_usage_.look(threads, now);
}

void runtime::count_workers(metrics_snapshot& m) const {
  const detail::host_usage::seen host = look_at_host(detail::monotonic::now());
  m.throttling = host.throttling;
  const detail::stuck_workers& stuck = supervisor_.stuck();
  const std::uint32_t fastest = std::ranges::max(groups_.groups(), {}, &locality_group::capacity).capacity;
  for (detail::worker* seat : seats_) {
    worker_metrics w = metrics_of(*seat);
    w.waited_for_cpu = host.waited_for_cpu[m.workers.size()];
    if (w.active != 0) w.capacity = group(w.group).at_speed(groups_[w.group].capacity);
    if (groups_[w.group].capacity < fastest) w.latency_runs_on_slow_cores = w.latency_runs;
    const auto& idle = idle_->counts(seat->id());
    w.parks = idle.parks.load(std::memory_order_relaxed);
    w.wakes = idle.wakes.load(std::memory_order_relaxed);
    w.wakes_in_vain = idle.wakes_in_vain.load(std::memory_order_relaxed);
    w.timeouts = idle.timeouts.load(std::memory_order_relaxed);
    w.lifo_rescued = idle.lifo_rescued.load(std::memory_order_relaxed);
    w.rescued_by_timeout = idle.rescued.load(std::memory_order_relaxed);
    w.standing = stuck.stands(seat->id()) ? 1 : 0;
    w.stuck = stuck.count(seat->id());
    w.stuck_for = stuck.time(seat->id());
    m.workers.push_back(w);
  }
}

void runtime::count_io(metrics_snapshot& m) const {
  if (!idle_->drives()) return;
  for (const locality_group& g : groups_.groups()) {
    const driver* const d = idle_->driver_of(g.id);
    if (d == nullptr) continue;
    io_metrics& of_group = m.io.emplace_back(io_metrics{.group = g.id, .driver = d->count()});
    for (const worker_place& place : layout_.of_group(g.id))
      of_group.ready_waited += seats_[place.id.value]->counts().ready_waited.read();
  }
}

metrics_snapshot runtime::metrics() const {
  metrics_snapshot m;
  m.health = troubles().state;
  if (after_process_fork()) return m; // threads that are not here may hold locks for ever
  count_workers(m);
  for (const locality_group& g : groups_.groups())
    if (!layout_.of_group(g.id).empty()) m.groups.push_back({g.id, machine_.kinds()[g.kind].name});
  count_io(m);
  for (std::uint8_t phase = 0; phase < detail::phases; ++phase) {
    const counts c = sum(phase);
    m.finished += c.finished;
    m.submitted += c.submitted;
  }
  const counts daemons = sum(detail::daemon_phase);
  m.daemons = daemons.submitted - daemons.finished;
  for (const auto& g : group_states_) m.injected += g->injection().count();
  for (const auto& domain : classes_)
    count_in(m, domain->of(task_class::latency), domain->of(task_class::background));
  for (const detail::timer_group* timers : timers_->groups()) count_in(m, timers->count());
  m.reloads = reloads_.load(std::memory_order_relaxed);
  detail::change_book::entry changes = changes_.read();
  m.machine_changes = changes.changes;
  m.last_machine_change = std::move(changes.last);
  m.outdated = outdated_rules();
  m.rejected = rejected_.load(std::memory_order_relaxed);
  m.refused_stopping = refused_stopping_.load(std::memory_order_relaxed);
  m.dropped = dropping_.dropped();
  m.failed = failed_.load(std::memory_order_relaxed);
  const profile in_force = configuration();
  m.profile_hash = hash_of(profile_text(in_force));
  m.profile_source = in_force.source;
  m.oldest_wait = supervisor_.oldest_wait();
  m.spare_threads = threads_.spares();
  m.spare_threads_in_use = threads_.count().seatless;
  m.spare_threads_max = in_force.blocking.spares_max;
  count_in(m, detail::count_block_memory());
  m.short_of_spares = supervisor_.short_of_spares() ? 1 : 0;
  m.spares_exhausted = supervisor_.spare_shortages();
  m.tasks_waiting_for_a_seat = detail::tasks_waiting_for_a_seat(*this);
  count_in(m, blocking_calls_.count());
  return m;
}

} // namespace corewise
