#include "runtime/load_history.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace corewise::detail {

namespace {

using seconds = std::chrono::duration<double>;

time_histogram since(const time_histogram& now, const time_histogram& then) {
  time_histogram between;
  std::transform(now.counts.begin(), now.counts.end(), then.counts.begin(), between.counts.begin(),
                 std::minus<>());
  return between;
}

/// Returns a quantile of the times; above all bounds, twice the last one.
std::optional<std::chrono::nanoseconds> quantile(const time_histogram& times, double q) {
  if (times.count() == 0) return std::nullopt;
  return std::min(times.quantile(q), time_histogram::bound(time_histogram::bounds));
}

request_load requests_between(const request_sample& now, const request_counts& then, seconds passed) {
  const request_counts& counts = now.counts;
  request_load load{.in_flight = counts.in_flight(),
                    .mean_in_flight = static_cast<double>(counts.in_flight()),
                    .limit = now.limit,
                    .latency = now.latency};
  if (const auto begun = counts.begun - then.begun; begun != 0)
    load.mean_in_flight = static_cast<double>(counts.found - then.found) / static_cast<double>(begun);
  if (passed >= load_history::shortest) {
    load.rps = static_cast<double>(counts.ended - then.ended) / passed.count();
    load.eps = static_cast<double>(counts.failed - then.failed) / passed.count();
  }
  return load;
}

/// Returns the capacity by which loads are divided.
double capacity_there(const load_report& r) { return std::max(r.effective_capacity, .01); }

std::chrono::nanoseconds look_at(head_watch& heads, const load_sample& now) {
  return heads.look(now.at, [&](const auto& f) { std::ranges::for_each(now.heads, f); });
}

} // namespace

load_history::load_history(load_sample first, std::chrono::nanoseconds window)
    : window_(window),
      throttling_(first.throttling),
      throttling_at_(first.throttling_at) {
  marks_.push_back(mark_of(first));
  static_cast<void>(look_at(heads_, first));
}

load_history::mark load_history::mark_of(const load_sample& s) {
  return {s.at, s.busy_cpus, s.waited, s.requests ? s.requests->counts : request_counts()};
}

load_report load_history::add(load_sample now) {
  while (marks_.size() > 1 && now.at - marks_[1].at >= window_) marks_.pop_front();
  const mark& then = marks_.front();
  const seconds passed = now.at - then.at;

  const double left = share_left(now);
  load_report r{.state = now.state,
                .tasks_in_flight = now.in_flight,
                .tasks_queued = now.queued,
                .tasks_running = now.running,
                .oldest_wait = look_at(heads_, now),
                .capacity = now.capacity,
                .effective_capacity = (now.active - now.slowed) * left,
                .window = now.at - then.at};
  const time_histogram waited = since(now.waited, then.waited);
  r.wait_p50 = quantile(waited, .5);
  r.wait_p99 = quantile(waited, .99);

  r.expected_delay = static_cast<double>(now.queued + now.running + 1) / capacity_there(r);
  if (passed >= shortest)
    r.cpu_utilization = (now.busy_cpus - then.busy_cpus) / passed / std::max(now.active * left, .01);
  else if (now.workers != 0)
    r.cpu_utilization = static_cast<double>(now.running) / now.workers;
  r.utilization = r.cpu_utilization;
  if (now.requests) {
    r.requests = requests_between(*now.requests, then.requests, passed);
    if (r.requests->limit != 0)
      r.utilization = std::max(r.utilization, r.requests->mean_in_flight / r.requests->limit);
  }
  if (now.at - marks_.back().at >= window_ / parts) marks_.push_back(mark_of(now));
  return r;
}

/// Returns which share of the workers' capacity the quotas leave. A quota that others of the control group
/// use up shows only by the time for which it has stopped CPUs on which the group had something to run. A group that is
/// stopped uses its quota, so that it would have used the sum of both.
double load_history::share_left(const load_sample& now) {
  if (now.throttling_at > throttling_at_) {
    const seconds between = now.throttling_at - std::exchange(throttling_at_, now.throttling_at);
    lost_cpus_ = seconds(now.throttling.throttled - throttling_.throttled) / between;
    throttling_ = now.throttling;
  }
  const auto& quota = now.throttling.quota_cpus;
  if (!quota || now.workers == 0) return 1;
  return std::min({1.0, *quota / now.workers, *quota / (*quota + lost_cpus_)});
}

} // namespace corewise::detail

namespace corewise {

load_report sum_of(const std::vector<load_report>& engines) {
  load_report all;
  double used = 0;
  for (const load_report& r : engines) {
    all.state = std::max(all.state, r.state);
    all.draining = all.draining || r.draining;
    all.tasks_in_flight += r.tasks_in_flight;
    all.tasks_queued += r.tasks_queued;
    all.tasks_running += r.tasks_running;
    all.wait_p50 = std::max(all.wait_p50, r.wait_p50); // nothing is the least
    all.wait_p99 = std::max(all.wait_p99, r.wait_p99);
    all.oldest_wait = std::max(all.oldest_wait, r.oldest_wait);
    all.capacity += r.capacity;
    all.effective_capacity += r.effective_capacity;
    all.window = std::max(all.window, r.window);
    used += r.cpu_utilization * detail::capacity_there(r);
    if (!all.requests) all.requests = r.requests;
  }
  all.expected_delay =
      static_cast<double>(all.tasks_queued + all.tasks_running + 1) / detail::capacity_there(all);
  all.cpu_utilization = all.utilization = used / detail::capacity_there(all);
  if (all.requests && all.requests->limit != 0)
    all.utilization = std::max(all.utilization, all.requests->mean_in_flight / all.requests->limit);
  return all;
}

double free_share(const load_report& load) noexcept {
  constexpr double least = .001;
  if (load.state == health_state::wedged) return least;
  const double there = load.capacity > 0 ? load.effective_capacity / load.capacity : 0;
  const double used = std::max(load.utilization, 0.0);
  return std::clamp(there * (used <= 1 ? 1 - .9 * used : .1 / used), least, 1.0);
}

double smooth_free_share::add(const load_report& load, std::chrono::steady_clock::time_point now) {
  const double share = free_share(load);
  const std::chrono::duration<double> passed = at_ ? now - *at_ : std::chrono::hours{1};
  share_ += (share - share_) * (1 - std::exp(-passed / std::chrono::duration<double>(time_constant)));
  at_ = now;
  return share_;
}

} // namespace corewise
