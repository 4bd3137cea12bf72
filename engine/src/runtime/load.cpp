#include "runtime/load_history.hpp"
#include "runtime/runtime.hpp"
#include "worker/queue_heads.hpp"

#include <corewise/engine/load.hpp>

#include <mutex>
#include <vector>

// Reads what a load_meter compares.

namespace corewise {

namespace {

/// Adds what each worker has counted, and does now.
void sample_workers(const detail::shared& engine, detail::load_sample& s) {
  for (const locality_group& g : engine.groups().groups()) {
    const double capacity = static_cast<double>(g.capacity) / full_capacity;
    const auto now_at = static_cast<double>(engine.group(g.id).at_speed(g.capacity)) / full_capacity;
    for (const worker_place& place : engine.layout().of_group(g.id)) {
      detail::worker& seat = engine.seat(place.id);
      const worker_metrics counted = metrics_of(seat);
      const worker_load now = engine.view().load(seat.entry());
      const bool active = engine.active(place.id);
      if (active || engine.index_in_group(place.id) < engine.layout().at_begin(g.id)) s.capacity += capacity;
      s.running += now.running;
      s.busy_cpus += capacity * counted.busy;
      for (const time_histogram& of_class : counted.waited) s.waited += of_class;
      s.queued +=
          now.slot + static_cast<std::uint64_t>(seat.queues().forks.size()); // beside what the heads count
      if (!active) continue;
      s.active += capacity;
      s.slowed += capacity - now_at;
      ++s.workers;
    }
  }
}

} // namespace

/// Waits for no worker, and takes no lock of the queues.
detail::load_sample runtime::sample_load() const {
  detail::load_sample s;
  s.state = troubles().state;
  s.at = detail::monotonic::now();
  if (after_process_fork()) return s; // threads that are not here may hold locks for ever
  for (std::uint8_t phase = 0; phase < detail::phases; ++phase) {
    const counts c = sum(phase);
    s.in_flight += c.submitted - c.finished;
  }
  sample_workers(*this, s);
  for_each_head(*this, [&](const detail::queue_head& head) { s.heads.push_back(head); });
  for (const detail::queue_head& head : s.heads) s.queued += head.waiting;
  const detail::host_usage::seen host = look_at_host(s.at);
  s.throttling = host.throttling;
  // The quota of the process is divided among its engines.
  const double part = settings_.workers.quota_part;
  if (s.throttling.quota_cpus) *s.throttling.quota_cpus *= part;
  s.throttling.throttled =
      std::chrono::duration_cast<std::chrono::nanoseconds>(s.throttling.throttled * part);
  s.throttling_at = host.at;
  return s;
}

class load_meter::inside {
 public:
  inside(const runtime& of, const request_meter* requests, std::chrono::nanoseconds window)
      : of_(of),
        requests_(requests),
        history_(sample(), window),
        last_(history_.add(sample())) {}

  load_report read() {
    if (of_.after_process_fork()) return {.state = health_state::ended}; // the locks may be held for ever
    const std::unique_lock reads(reading_, std::try_to_lock);
    if (!reads || detail::monotonic::now() - read_at_ < fresh) return last();
    load_report now = history_.add(sample());
    read_at_ = detail::monotonic::now();
    const std::scoped_lock lock(last_mutex_);
    last_ = now;
    return now;
  }

 private:
  detail::load_sample sample() const {
    detail::load_sample s = of_.sample_load();
    if (requests_ != nullptr) s.requests = {requests_->counts(), requests_->limit(), requests_->latency()};
    return s;
  }
  load_report last() {
    const std::scoped_lock lock(last_mutex_);
    return last_;
  }

  const runtime& of_;
  const request_meter* const requests_;
  detail::mutex reading_; // guards the next two
  detail::load_history history_;
  detail::monotonic::time_point read_at_{};
  detail::mutex last_mutex_; // guards the next one; taken within `reading_`
  load_report last_;
};

load_meter::load_meter(const engine& of, const request_meter* requests, any_duration window)
    : inside_(std::make_unique<inside>(*of.runtime_, requests, window)) {}
load_meter::~load_meter() = default;

load_report load_meter::read() { return inside_->read(); }

} // namespace corewise
