#pragma once

#include "base/clock.hpp"
#include "books/head_watch.hpp"

#include <corewise/engine/health.hpp>
#include <corewise/engine/load.hpp>
#include <corewise/engine/metrics.hpp>
#include <corewise/engine/request_meter.hpp>
#include <corewise/topology/throttling.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

// The figures that a load_meter reads of an engine at one moment, and how two moments become a report. Nothing here knows
// of threads.

namespace corewise::detail {

struct request_sample {
  request_counts counts;
  std::uint32_t limit = 0;
  std::optional<std::chrono::nanoseconds> latency;
};

struct load_sample {
  monotonic::time_point at{};
  health_state state = health_state::ok;
  std::uint64_t in_flight = 0;
  std::uint64_t queued = 0;
  std::uint64_t running = 0;
  std::uint32_t workers = 0;                  ///< that no profile has retired
  double capacity = 0;                        ///< of all workers, in CPUs of the fastest kind
  double active = 0;                          ///< of those that no profile has retired
  double slowed = 0;                          ///< of that, what the host does not allow its cores now
  std::chrono::duration<double> busy_cpus{0}; ///< busy time of all workers × their capacity; only grows
  time_histogram waited;                      ///< of all workers and classes; only grows
  std::vector<queue_head> heads;              ///< always as many, in the same order
  cpu_throttling throttling;
  monotonic::time_point throttling_at{}; ///< when the system was asked for it
  std::optional<request_sample> requests;
};

/// Makes reports of samples that come one after another. One thread at a time.
class load_history {
 public:
  /// Windows are divided into so many parts; a reading begins a part.
  static constexpr int parts = 8;
  /// Times shorter than this have no rates: then what runs at the moment stands for what ran.
  static constexpr std::chrono::milliseconds shortest{10};

  load_history(load_sample first, std::chrono::nanoseconds window);

  load_report add(load_sample now);

 private:
  /// The counts at some time.
  struct mark {
    monotonic::time_point at;
    std::chrono::duration<double> busy_cpus;
    time_histogram waited;
    request_counts requests;
  };

  static mark mark_of(const load_sample& s);
  double share_left(const load_sample& now);

  const std::chrono::nanoseconds window_;
  std::deque<mark> marks_; // oldest first; only the first may be a window old or older
  head_watch heads_;
  cpu_throttling throttling_;
  monotonic::time_point throttling_at_;
  double lost_cpus_ = 0; // to throttling, between its last two looks
};

} // namespace corewise::detail
