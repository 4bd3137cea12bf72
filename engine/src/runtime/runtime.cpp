#include "runtime/runtime.hpp"

#include "base/clock.hpp"
#include "base/fence.hpp"
#include "memory/block_memory.hpp"

#include <corewise/topology/error.hpp>
#include <corewise/topology/thread_limit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <variant>

namespace corewise {

using detail::this_execution;

runtime::runtime(profile settings, engine_hooks hooks)
    : shared(std::move(settings), std::move(hooks)),
      waits_when_full_(settings_.limits.on_full == full_action::wait),
      near_nodes_(machine_, groups_, layout_),
      host_(settings_, machine_, groups_),
      supervisor_(*this, threads_, {host_.in_force().cpus, [this] { follow_host(); }}),
      threads_(*this, *this) {
  thread_service_ = &supervisor_;
  show_seats(); // some are headroom
  if (settings_.topology.measure) speed_meter_.emplace(groups_);
  check_machine();
}

runtime::~runtime() {
  for (detail::worker* seat : seats_) seat->lender().note_left(); // there is no thread any more
  dropping_.drop_suspended();
  submitters_.wait_for_wakers();
}

/// Warns where the control group does not allow the threads that the engine may need.
void runtime::check_thread_limit() {
  const auto* const live = std::get_if<live_source>(&settings_.topology.machine.source);
  const std::optional<std::uint64_t> limit = live != nullptr ? read_thread_limit(live->root) : std::nullopt;
  const std::uint64_t most = layout_.size() + settings_.blocking.spares_max + 1; // the supervisor
  if (!limit || *limit >= most) return;
  notices_.warn(
      log_code::machine,
      fmt::format(
          "the control group allows {} threads (pids.max, TasksMax), and the engine may need {}: {} for "
          "workers, {} to take the place of tasks that block (blocking.spares_max), and 1 that watches",
          *limit, most, layout_.size(), settings_.blocking.spares_max));
}

void runtime::check_machine() {
  check_thread_limit();
  if (settings_.engines.per != machine_part::machine)
    notices_.warn(log_code::machine,
                  "the profile asks for several engines (engines.per), and the program makes one: it "
                  "has the whole machine");
  const bool described = !std::holds_alternative<live_source>(settings_.topology.machine.source);
  if (!settings_.sharing.file.empty() && described)
    notices_.warn(log_code::machine,
                  "a described machine is shared with no daemon: sharing.file has no effect");
  if (settings_.topology.hfi && described)
    notices_.warn(log_code::machine,
                  "a described machine has no hardware to hear of: topology.hfi has no effect");
  if (machine_.limits().part_hidden && settings_.topology.follow.kind != follow_setting::mode::off)
    notices_.log({.code = log_code::machine,
                  .text = "this process sees only a part of the control groups, as in a container: quotas "
                          "and cpusets above that part are not seen, and not followed"});
  if (!machine_.is_this_system()) {
    notices_.warn(log_code::machine, "the engine runs for a described machine (" + machine_.source() +
                                         "): workers are not pinned and memory is not bound");
    return;
  }
  if (settings_.workers.pin == pin_to::none || !settings_.sharing.file.empty()) return;
  cpu_set used;
  for (const worker_place& p : layout_.workers()) used |= groups_[p.group].cpus;
  claim_ = detail::cpu_claim(std::move(used));
  if (!claim_.overlap().empty())
    notices_.warn(log_code::shared_cpus,
                  "another engine of this process uses CPUs " + claim_.overlap().to_string() + " too");
}

void runtime::start() {
  threads_.start(shared_from_this());
  if (host_.has_more_to_see()) static_cast<void>(follow(/*at_once=*/true));
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
  if (supervisor_.is_this_thread())
    throw std::logic_error("engine::drain in a hook on the supervisor's thread would deadlock");
  drains_.drain([this](std::uint8_t phase) { return quiet(phase); });
}

shutdown_report runtime::shutdown(std::chrono::nanoseconds grace, std::chrono::nanoseconds deadline) {
  if (after_process_fork()) return {};
  if (this_execution.engine == this)
    throw std::logic_error("engine::shutdown on a worker of the engine would deadlock");
  if (supervisor_.is_this_thread())
    throw std::logic_error("engine::shutdown in a hook on the engine's own thread would deadlock");
  return end(grace, deadline);
}

const shutdown_report& runtime::end(std::chrono::nanoseconds grace,
                                    std::chrono::nanoseconds deadline) noexcept {
  const std::scoped_lock lock(shutdown_mutex_);
  if (report_) return *report_;
  constexpr std::chrono::nanoseconds longest = std::chrono::hours{24 * 365};
  if (this_execution.engine == this) deadline = {}; // the calling task would wait for itself
  const auto called = detail::monotonic::now();
  const auto until = called + std::clamp(deadline, std::chrono::nanoseconds{0}, longest);
  const auto stops = called + std::clamp(grace, std::chrono::nanoseconds{0}, until - called);
  const auto tasks_ended = [this] { return quiet(0) && quiet(1); };
  const auto all_ended = [&] { return tasks_ended() && quiet(detail::daemon_phase); };
  set(stage::closing);
  detail::full_fence(); // with closed_meanwhile
  limit_.wake_all();
  drains_.wait(tasks_ended, stops);
  stop_.request_stop();
  drains_.wait(all_ended, until);
  submitters_.wait_for_arriving(); // though the deadline is over

  set(stage::ended);
  idle_->stop();
  supervisor_.stop();
  threads_.stop();
  // Threads without a task leave at once. The others have had their time.
  constexpr std::chrono::milliseconds to_leave{200};
  shutdown_report report;
  report.running = threads_.join(std::max(until, detail::monotonic::now() + to_leave));
  dropping_.drop_queued();
  try {
    report.suspended = suspended_.count();
  } catch (const std::bad_alloc&) {
    notices_.try_warn_once(log_code::work_left,
                           "no memory to report which coroutines were suspended at the end");
  }
  if (!threads_.left_to_themselves()) { // else the last of the threads drops them
    dropping_.drop_suspended();
    suspended_.trim();
  }
  report.dropped = dropping_.dropped();
  try {
    report.kept = dropping_.kept();
  } catch (const std::bad_alloc&) {
    notices_.try_warn_once(log_code::work_left, "no memory to report which coroutines were kept at the end");
  }
  {
    const std::scoped_lock leaving(apply_mutex_);
    host_.end_sharing();
  }
  detail::trim_blocks(0); // this may have been the last engine
  return report_.emplace(std::move(report));
}

} // namespace corewise
