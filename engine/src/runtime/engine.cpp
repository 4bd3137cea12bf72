#include "runtime/runtime.hpp"
#include "worker/task_label.hpp"

#include <corewise/engine/deadline_expired.hpp>

#include <fmt/format.h>

namespace corewise {

namespace {

/// Returns a text for the log: the work that remained at the destructor's deadline.
std::string remains(const shutdown_report& report) {
  std::string text = fmt::format("engine destroyed with work left: {} tasks dropped", report.dropped);
  for (const suspended_in& s : report.suspended)
    text += fmt::format("; coroutines that waited for {}: {}", to_string(s.kind), s.coroutines);
  for (const suspended_in& s : report.kept) text += fmt::format("; of these kept for ever: {}", s.coroutines);
  for (const auto& r : report.running)
    text += fmt::format(
        "; worker {} still runs a task, for {} ms: {}", r.worker.value, r.since.count() / 1'000'000,
        r.task_kind.empty() ? "of unknown kind" : detail::task_text(r.task_kind, r.task_name, r.task_id));
  return text;
}

/// Returns whether the hint says more of a task than where it runs and as what.
bool says_more(const hint& wish) noexcept {
  return &wish != &no_hint && (wish.deadline != hint::no_deadline || wish.labelled() || wish.daemon);
}

/// Makes a task that runs `t` with the label and the deadline of the hint. `otherwise` and `error` are those of
/// `before_deadline`.
task_header* covered(task_header* t, const hint& wish, runtime& engine, task_header* otherwise,
                     std::exception_ptr* error) {
  detail::unbegun_task instead(otherwise);
  detail::unbegun_task made(t);
  if (wish.labelled()) made = detail::with_label(made, wish, engine);
  if (wish.deadline == hint::no_deadline) return made.release();
  return detail::before_deadline(made.release(), wish.deadline, instead.release(), error);
}

[[gnu::cold, gnu::noinline]] submit_result accept_covered(runtime& engine, task_header* t, const hint& wish,
                                                          bool may_wait, task_header* otherwise,
                                                          std::exception_ptr* error) {
  detail::unbegun_task made(covered(t, wish, engine, otherwise, error));
  return wish.daemon ? engine.offer_daemon(made, wish) : engine.accept(made.release(), wish, may_wait);
}

} // namespace

engine::engine(profile p, engine_hooks hooks)
    : runtime_(std::make_shared<runtime>(std::move(p), std::move(hooks))) {
  try {
    runtime_->start();
  } catch (...) {
    runtime_->end({}, std::chrono::seconds{1});
    throw;
  }
}

engine::engine() : engine(profile{}) {}

engine::~engine() {
  if (runtime_->after_process_fork()) {
    runtime_->keep_for_ever();
    return;
  }
  const shutdown_report& report = runtime_->end({}, destructor_deadline);
  if (report.clean()) return;
  const log_record::number numbers[] = {{"dropped", static_cast<std::int64_t>(report.dropped)},
                                        {"running", static_cast<std::int64_t>(report.running.size())}};
  log_record record{.severity = log_severity::error,
                    .code = log_code::work_left,
                    .numbers = numbers,
                    .text = "engine destroyed with work left"};
  std::string text;
  try {
    record.text = text = remains(report);
  } catch (const std::bad_alloc&) { // the short text stays
    record.text = "engine destroyed with work left";
  }
  runtime_->notices().log(record);
}

submit_result engine::accept(task_header* t, const hint& wish, bool may_wait) {
  if (says_more(wish)) [[unlikely]] // here, so that other tasks pay next to nothing
    return accept_covered(*runtime_, t, wish, may_wait, nullptr, nullptr);
  return runtime_->accept(t, wish, may_wait);
}
submit_result engine::accept(task_header* t, const hint& wish, task_header* otherwise) {
  return accept_covered(*runtime_, t, wish, /*may_wait=*/true, otherwise, nullptr);
}
submit_result engine::offer(detail::unbegun_task& t, const hint& wish) {
  if (!says_more(wish)) return runtime_->offer(t, wish);
  detail::unbegun_task offered(covered(t.release(), wish, *runtime_, nullptr, nullptr));
  const submit_result in =
      wish.daemon ? runtime_->offer_daemon(offered, wish) : runtime_->offer(offered, wish);
  if (in == submit_result::accepted) return in;
  if (wish.deadline != hint::no_deadline) offered = detail::without_deadline(std::move(offered));
  t = wish.labelled() ? detail::without_label(std::move(offered), *runtime_) : std::move(offered);
  return in;
}
void engine::accept_work(task_header* t, const hint& wish, detail::future_state& settled_by_it) {
  settled_by_it.begin();
  if (says_more(wish)) [[unlikely]]
    static_cast<void>(accept_covered(*runtime_, t, wish, /*may_wait=*/true, nullptr, &settled_by_it.error));
  else
    static_cast<void>(runtime_->accept(t, wish, /*may_wait=*/true));
}
void engine::drain() { runtime_->drain(); }
shutdown_report engine::shutdown(any_duration grace, any_duration deadline) {
  return runtime_->shutdown(grace, deadline);
}
std::stop_token engine::stop_token() const noexcept { return runtime_->stop_token(); }
metrics_snapshot engine::metrics() const { return runtime_->metrics(); }
engine_dump engine::dump() const { return runtime_->dump(); }
health_report engine::health() const { return runtime_->health(); }
std::vector<std::string> engine::warnings() const { return runtime_->warnings(); }
apply_result engine::apply(profile p) { return runtime_->apply(std::move(p)); }
std::optional<machine_change> engine::refresh() { return runtime_->follow(/*at_once=*/true); }
profile engine::configuration() const { return runtime_->configuration(); }
const topology& engine::machine() const noexcept { return runtime_->machine(); }
const locality_groups& engine::groups() const noexcept { return runtime_->groups(); }
const worker_layout& engine::workers() const noexcept { return runtime_->layout(); }
std::pmr::memory_resource& engine::memory(group_id g) const { return *runtime_->memory(g); }

std::optional<worker_id> engine::this_worker() const noexcept {
  detail::forget_parent_process();
  const detail::execution& here = detail::this_execution;
  if (here.engine != runtime_.get() || here.seat == nullptr) return std::nullopt;
  return here.seat->id();
}

} // namespace corewise
