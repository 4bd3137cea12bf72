#include "run_reports.hpp"

#include <algorithm>
#include <vector>

namespace corewise::detail {

namespace {

constexpr std::uint64_t never = ~std::uint64_t{0};

} // namespace

run_reports::run_reports(simulated_state& state)
    : state_(state),
      next_sample_(state.setup.options.samples == 0 ? never : 0),
      next_moment_(!state.setup.options.on_moment || state.setup.options.moments == 0 ? never : 0),
      next_(std::min(next_sample_, next_moment_)) {}

void run_reports::tell_due(std::uint64_t ended_tasks) {
  const simulation_options& options = state_.setup.options;
  if (ended_tasks >= next_sample_) {
    sample_loads();
    next_sample_ += std::max<std::uint64_t>(1, options.tasks / options.samples);
  }
  if (ended_tasks >= next_moment_) {
    tell_moment();
    next_moment_ += std::max<std::uint64_t>(1, options.tasks / options.moments);
  }
  next_ = std::min(next_sample_, next_moment_);
}

void run_reports::sample_loads() {
  const run_setup& setup = state_.setup;
  std::vector<float> load;
  for (const locality_group& g : setup.groups.groups()) {
    const auto workers = setup.layout.of_group(g.id);
    std::uint32_t tasks = setup.injection_of[g.id.value] == g.id ? state_.queues.injected(g.id) : 0;
    for (const worker_place& w : workers)
      tasks += state_.boards.view().load(state_.boards.entry(w.id)).total();
    load.push_back(static_cast<float>(tasks) / static_cast<float>(std::max<std::size_t>(1, workers.size())));
  }
  state_.measured.sample(state_.clock.now_ns(), std::move(load));
}

void run_reports::tell_moment() const {
  live_figures now{.time = std::chrono::nanoseconds{state_.clock.now_ns()}, .metrics = {}};
  metrics_snapshot& m = now.metrics;
  m.workers = state_.live.workers();
  for (worker_metrics& w : m.workers) {
    if (state_.workers.of(w.worker) == worker_state::running)
      w.busy += std::chrono::nanoseconds{state_.workers.time_in_state_ns(w.worker)};
    w.load = state_.boards.view().load(state_.boards.entry(w.worker)).total();
  }
  m.finished = state_.measured.ended_tasks();
  m.submitted = m.finished + state_.tasks.alive();
  m.injected = state_.queues.in_injection_queues();
  m.latency_queued = state_.queues.in_classes(task_class::latency);
  m.background_queued = state_.queues.in_classes(task_class::background);
  state_.setup.options.on_moment(now);
}

} // namespace corewise::detail
