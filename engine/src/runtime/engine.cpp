#include "runtime/runtime.hpp"

#include <corewise/engine/deadline_expired.hpp>

#include <fmt/format.h>

namespace corewise {

namespace {

/// Returns a text for the log: the work that remained at the destructor's deadline.
std::string remains(const shutdown_report& report) {
  std::string text = fmt::format("engine destroyed with work left: {} tasks dropped", report.dropped);
  for (const suspended_in& s : report.suspended)
    text += fmt::format("; coroutines that waited for {}: {}", to_string(s.kind), s.coroutines);
  for (const auto& r : report.running)
    text +=
        fmt::format("; worker {} still runs a task, for {} ms", r.worker.value, r.since.count() / 1'000'000);
  return text;
}

} // namespace

engine::engine(profile p, engine_hooks hooks)
    : runtime_(std::make_shared<runtime>(std::move(p), std::move(hooks))) {
  try {
    runtime_->start();
  } catch (...) {
    runtime_->shutdown(std::chrono::seconds{1});
    throw;
  }
}

engine::engine() : engine(profile{}) {}

engine::~engine() {
  if (runtime_->after_process_fork()) {
    runtime_->keep_for_ever();
    return;
  }
  const shutdown_report report = runtime_->end(destructor_deadline);
  if (!report.clean() && runtime_->hooks().log) runtime_->hooks().log(remains(report));
}

submit_result engine::accept(task_header* t, const hint& wish, bool may_wait) {
  if (wish.deadline != hint::no_deadline) [[unlikely]] // here, so that other tasks pay only a load
    t = detail::before_deadline(t, wish.deadline, nullptr, nullptr);
  return runtime_->accept(t, wish, may_wait);
}
submit_result engine::accept(task_header* t, const hint& wish, task_header* otherwise) {
  return runtime_->accept(detail::before_deadline(t, wish.deadline, otherwise, nullptr), wish,
                          /*may_wait=*/true);
}
void engine::accept_work(task_header* t, const hint& wish, detail::future_state& settled_by_it) {
  if (wish.deadline != hint::no_deadline) [[unlikely]]
    t = detail::before_deadline(t, wish.deadline, nullptr, &settled_by_it.error);
  static_cast<void>(runtime_->accept(t, wish, /*may_wait=*/true));
}
void engine::drain() { runtime_->drain(); }
shutdown_report engine::shutdown(std::chrono::nanoseconds deadline) { return runtime_->shutdown(deadline); }
metrics_snapshot engine::metrics() const { return runtime_->metrics(); }
engine_dump engine::dump() const { return runtime_->dump(); }
std::vector<std::string> engine::warnings() const { return runtime_->warnings(); }
apply_result engine::apply(profile p) { return runtime_->apply(std::move(p)); }
profile engine::configuration() const { return runtime_->configuration(); }
const topology& engine::machine() const noexcept { return runtime_->machine(); }
const locality_groups& engine::groups() const noexcept { return runtime_->groups(); }
const worker_layout& engine::workers() const noexcept { return runtime_->layout(); }
std::pmr::memory_resource& engine::memory(group_id g) const { return *runtime_->memory(g); }

std::optional<worker_id> engine::this_worker() const noexcept {
  const detail::execution& here = detail::this_execution;
  if (here.engine != runtime_.get() || here.seat == nullptr) return std::nullopt;
  return here.seat->id();
}

} // namespace corewise
