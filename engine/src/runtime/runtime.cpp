#include "runtime/runtime.hpp"

#include "base/clock.hpp"
#include "base/fence.hpp"

#include <corewise/topology/error.hpp>

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace corewise {

using detail::this_execution;

runtime::runtime(profile settings, engine_hooks hooks)
    : shared(std::move(settings), std::move(hooks)),
      waits_when_full_(settings_.limits.on_full == full_action::wait),
      near_nodes_(machine_, groups_, layout_),
      supervisor_(*this, threads_),
      threads_(*this, *this) {
  thread_service_ = &supervisor_;
  check_machine();
}

runtime::~runtime() {
  for (detail::worker* seat : seats_) seat->note_left(); // there is no thread any more
  drop_suspended();
}

void runtime::check_machine() {
  if (!machine_.is_this_system()) {
    notices_.warn("the engine runs for a described machine (" + machine_.source() +
                  "): workers are not pinned and memory is not bound");
    return;
  }
  if (settings_.workers.pin == pin_to::none) return;
  cpu_set used;
  for (const worker_place& p : layout_.workers()) used |= groups_[p.group].cpus;
  claim_ = detail::cpu_claim(std::move(used));
  if (!claim_.overlap().empty())
    notices_.warn("another engine of this process uses CPUs " + claim_.overlap().to_string() + " too");
}

void runtime::start() {
  threads_.start(shared_from_this());
  if (settings_.strict && !warnings().empty()) {
    std::string all = "the profile is strict, and the machine cannot fulfil these requests:";
    for (const std::string& w : warnings()) all += "\n  " + w;
    throw topology_error(all);
  }
}

// --- the end of tasks, and of the engine

bool runtime::quiet(std::uint8_t phase) const {
  const counts now = sum(phase);
  return now.finished == now.submitted;
}

void runtime::drain() {
  if (after_process_fork()) return;
  if (this_execution.engine == this)
    throw std::logic_error("engine::drain on a worker of the engine would deadlock");
  drains_.drain([this](std::uint8_t phase) { return quiet(phase); });
}

shutdown_report runtime::shutdown(std::chrono::nanoseconds deadline) {
  if (after_process_fork()) return {};
  if (this_execution.engine == this)
    throw std::logic_error("engine::shutdown on a worker of the engine would deadlock");
  return end(deadline);
}

/// Waits until each submitter that was let in before the engine closed has queued its task, though the
/// deadline is over. The submitter announces its rules until then (H1 to H3 of swapped.hpp; its fence is that
/// of `closed_meanwhile`). It needs a few steps, in which it waits for no thread.
void runtime::wait_for_arriving() const {
  submitters_.for_each([](const detail::submitter& s) {
    while (!s.by.holds(nullptr)) detail::sleep_for(std::chrono::microseconds{20});
  });
}

shutdown_report runtime::end(std::chrono::nanoseconds deadline) {
  const std::scoped_lock lock(shutdown_mutex_);
  if (report_) return *report_;
  constexpr std::chrono::nanoseconds longest = std::chrono::hours{24 * 365};
  const auto until = detail::monotonic::now() + std::clamp(deadline, std::chrono::nanoseconds{0}, longest);
  stage_.store(stage::closing, std::memory_order_seq_cst); // pairs: stage
  detail::full_fence();                                    // with closed_meanwhile
  limit_.wake_all();
  drains_.wait([this] { return quiet(0) && quiet(1); }, until);
  wait_for_arriving();

  stage_.store(stage::ended, std::memory_order_seq_cst); // pairs: stage
  idle_->stop();
  supervisor_.stop();
  threads_.stop();
  // Threads without a task leave at once. The others have had their time.
  constexpr std::chrono::milliseconds to_leave{200};
  shutdown_report report;
  report.running = threads_.join(std::max(until, detail::monotonic::now() + to_leave));
  drop_queued();
  report.suspended = suspended_.count();
  if (!threads_.left_to_themselves()) drop_suspended(); // else the last of the threads drops them
  report.dropped = dropped_.load(std::memory_order_relaxed);
  return *(report_ = std::move(report));
}

/// Returns the size of a group's injection queue. In the child of a process fork, another thread may hold the
/// queue's locks for ever.
std::uint32_t runtime::injected_in(detail::group_state& g) const noexcept {
  return after_process_fork() ? g.injection().size() : g.injection().count();
}

metrics_snapshot runtime::metrics() const {
  metrics_snapshot m;
  for (const detail::worker* seat : seats_) {
    worker_metrics w = seat->metrics();
    const auto& idle = idle_->counts(seat->id());
    w.parks = idle.parks.load(std::memory_order_relaxed);
    w.wakes = idle.wakes.load(std::memory_order_relaxed);
    w.timeouts = idle.timeouts.load(std::memory_order_relaxed);
    w.lifo_rescued = idle.lifo_rescued.load(std::memory_order_relaxed);
    w.rescued_by_timeout = idle.rescued.load(std::memory_order_relaxed);
    w.stuck = supervisor_.stuck(seat->id());
    m.workers.push_back(w);
  }
  for (std::uint8_t phase = 0; phase < detail::phases; ++phase) {
    const counts c = sum(phase);
    m.finished += c.finished;
    m.submitted += c.submitted;
  }
  for (const auto& g : group_states_) m.injected += injected_in(*g);
  for (const auto& domain : classes_) {
    const detail::class_queue& latency = domain->of(task_class::latency);
    const detail::class_queue& background = domain->of(task_class::background);
    m.latency_queued += latency.depth();
    m.background_queued += background.depth();
    m.latency_placed += latency.placed();
    m.background_placed += background.placed();
  }
  for (const detail::timer_group* timers : timer_groups_) {
    const detail::timer_group::counts c = timers->count();
    m.timers_pending += c.pending;
    m.timers_fired += c.fired;
    m.timers_cancelled += c.cancelled;
  }
  m.reloads = reloads_.load(std::memory_order_relaxed);
  m.outdated = outdated_rules();
  m.rejected = rejected_.load(std::memory_order_relaxed);
  m.failed = failed_.load(std::memory_order_relaxed);
  m.spare_threads = after_process_fork() ? 0 : threads_.spares();
  return m;
}

} // namespace corewise
