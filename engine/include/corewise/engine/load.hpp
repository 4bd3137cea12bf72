#pragma once

#include <corewise/engine/fwd.hpp>
#include <corewise/engine/health.hpp>
#include <corewise/policies/any_duration.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace corewise {

/// How loaded the server is, by its `request_meter`.
struct request_load {
  std::uint64_t in_flight = 0;
  double mean_in_flight = 0; ///< as the requests found that began in the window; without any, those in flight
  std::uint32_t limit = 0;   ///< `request_meter::limit`
  std::optional<std::chrono::nanoseconds> latency{}; ///< `request_meter::latency`
  double rps = 0;                                    ///< requests that ended, a second
  double eps = 0;                                    ///< of these, those that failed
};

/// How loaded an engine is: what a balancer of several servers needs to know. docs/load.md has the formulae.
struct load_report {
  health_state state = health_state::ok;
  bool draining = false; ///< the server is about to end, and wants no new requests; set by `corewise::admin`
  std::uint64_t tasks_in_flight = 0; ///< accepted and not finished, suspended ones among them
  std::uint64_t tasks_queued = 0;    ///< wait in queues now
  std::uint64_t tasks_running = 0;
  /// How long tasks waited in queues that were begun in the window: the median and the 99th percentile of the
  /// samples, within a factor of two. Nothing: there were no samples.
  std::optional<std::chrono::nanoseconds> wait_p50{};
  std::optional<std::chrono::nanoseconds> wait_p99{};
  /// For how long at least the oldest task has waited: how long no task was taken from some queue in which
  /// tasks wait. Forked children do not count.
  std::chrono::nanoseconds oldest_wait{0};
  /// Tasks ahead of a new one, and that one, for each unit of the capacity that is there: the rule by which
  /// tasks are placed, for whole engines.
  double expected_delay = 0;
  double cpu_utilization = 0; ///< busy time of the workers over the capacity that is there; may exceed 1
  /// The larger of `cpu_utilization` and of the requests' `mean_in_flight` over their limit.
  double utilization = 0;
  double capacity = 0;                ///< of all workers, in CPUs of the fastest kind
  double effective_capacity = 0;      ///< what of it is there: without retired workers, by the CPU quota
  std::chrono::nanoseconds window{0}; ///< over which the rates and times were taken
  std::optional<request_load> requests{};

  /// Return all figures: `name=value` lines, and an object. Times are in seconds. Figures that are not known
  /// are left out of the text, and null in JSON.
  std::string to_text() const;
  std::string to_json() const;
};

/// Returns the load of several engines of one server together, at least one: sums, the longest waits, the worst state. The
/// requests are those of the first report that has any.
load_report sum_of(const std::vector<load_report>& engines);

/// Returns the share of an engine's capacity that is free for new requests, above 0 and at most 1. A server that is just
/// full keeps a tenth of what is there: weights near 0 would multiply small differences between servers that are all full.
double free_share(const load_report& load) noexcept;

/// The free share as balancers are told it: a change shows by 63% after `time_constant`. That is slower than the balancer's
/// answer to it, so that the two do not swing: a server that gets fewer requests has more free capacity. One thread at a
/// time.
class smooth_free_share {
 public:
  static constexpr std::chrono::seconds time_constant{3};

  /// Takes a report of that time into account, and returns the share.
  double add(const load_report& load, std::chrono::steady_clock::time_point now);

 private:
  double share_ = 1;
  std::optional<std::chrono::steady_clock::time_point> at_; // of the last report
};

/// Reads the load of an engine, over a window: each meter remembers what it has read before, so several of
/// them do not disturb each other. Call from any thread, tasks included.
class load_meter {
 public:
  static constexpr std::chrono::nanoseconds default_window = std::chrono::seconds{1};
  /// A report that is no older is given again.
  static constexpr std::chrono::nanoseconds fresh = std::chrono::milliseconds{50};

  /// `of` and `requests` must outlive the last `read`. `requests`: null, or the server's meter, for
  /// `load_report::requests`. `window`: over which rates are taken; if nothing was read for longer, since the
  /// last reading.
  explicit load_meter(const engine& of, const request_meter* requests = nullptr,
                      any_duration window = default_window);
  load_meter(const load_meter&) = delete;
  load_meter& operator=(const load_meter&) = delete;
  ~load_meter();

  /// Returns the load now. While another thread reads, and within `fresh`, returns the report before. Waits
  /// for no worker. Cost: 1 us a worker; once a second some files of the system. Throws `std::bad_alloc`.
  load_report read();

 private:
  class inside;
  const std::unique_ptr<inside> inside_;
};

/// The header field in which a response tells the load to a proxy or a client, and the field by which a
/// client asks for it. Source: ORCA, the load reports of gRPC and Envoy; xds/data/orca/v3.
inline constexpr const char* orca_field = "endpoint-load-metrics";
inline constexpr const char* orca_request_field = "endpoint-load-metrics-format";

/// Return the value of `orca_field`: "TEXT cpu_utilization=0.5,...", "JSON {...}".
std::string orca_text(const load_report& load);
std::string orca_json(const load_report& load);

} // namespace corewise
