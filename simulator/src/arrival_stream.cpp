#include "time_limit.hpp"
#include "trace_file.hpp"
#include "words.hpp"

#include <corewise/simulator/workload.hpp>

#include <fmt/format.h>

#include <array>
#include <utility>

namespace corewise {

namespace {

/// A stream's name from eight letters, so that other streams of the same seed do not meet it by chance.
constexpr std::uint64_t named(std::string_view word) noexcept {
  std::uint64_t name = 0;
  for (const char c : word) name = name << 8 | static_cast<unsigned char>(c);
  return name;
}

constexpr double latest_ns = latest_time_ns;

/// How often an mmpp's rate may change between two arrivals, on average: each change takes time to draw.
constexpr double most_changes = 1000;
constexpr double few_changes = 1e6; ///< until `latest_ns`; as many are drawn at once

/// The times of Poisson arrivals whose rate changes between two values; with one value, plain ones.
///
/// The chain stays in a state for an exponential time: a burst for `burst_ns` on average, and calm for as
/// long as makes bursts `burst_share` of all time. Within a state times to the next arrival are exponential,
/// so when a state ends before the next arrival, the time may be drawn again from there.
class arrival_times {
 public:
  arrival_times(const workload& w, double rate, std::uint64_t seed)
      : gaps_(seed, named("arrivals")),
        states_(seed, named("bursts")) {
    const bool bursts = w.shape == workload::kind::mmpp;
    const double share = bursts ? w.burst_share : 0;
    const double calm_rate = rate / (share * w.burst_ratio + 1 - share); // the average over both is `rate`
    gap_ns_ = {1e9 / calm_rate, 1e9 / (calm_rate * w.burst_ratio)};
    if (!bursts) return;
    check_changes(w, rate);
    length_ns_ = {w.burst_ns * (1 - share) / share, w.burst_ns};
    in_burst_ = states_.uniform() < share ? 1 : 0;
    until_ns_ = length_ns_[in_burst_] * states_.exponential();
  }

  /// Returns when the next arrival comes; `latest_time_ns` for all arrivals that come later.
  std::int64_t next() noexcept {
    for (;;) {
      const double at = now_ns_ + gap_ns_[in_burst_] * gaps_.exponential();
      if (until_ns_ >= latest_ns && !(at < latest_ns)) { // also if `at` is no number
        now_ns_ = latest_ns;
        return latest_time_ns;
      }
      if (at <= until_ns_) {
        now_ns_ = at;
        return static_cast<std::int64_t>(at);
      }
      now_ns_ = until_ns_;
      in_burst_ = 1 - in_burst_;
      until_ns_ += length_ns_[in_burst_] * states_.exponential();
    }
  }

 private:
  static void check_changes(const workload& w, double rate) {
    using namespace simulated_words;
    const double changes = 2e9 * w.burst_share / (rate * w.burst_ns);
    if (changes <= most_changes || 2 * latest_ns * w.burst_share / w.burst_ns <= few_changes) return;
    throw workload_error(fmt::format(
        "{}: burst-length: found {}, with which the rate changes {:.3g} times between two of {} arrivals a "
        "second; expected at most {} times: longer bursts, or a higher rate or load",
        describe(w), duration_text(w.burst_ns), changes, number_text(rate), most_changes));
  }

  random_stream gaps_;
  random_stream states_;
  std::array<double, 2> gap_ns_{};    // calm, burst
  std::array<double, 2> length_ns_{}; // calm, burst
  std::size_t in_burst_ = 0;
  double now_ns_ = 0;
  double until_ns_ = latest_ns;
};

bool is_drawn(const workload& w) noexcept {
  return w.shape == workload::kind::poisson || w.shape == workload::kind::mmpp ||
         w.shape == workload::kind::fork_join;
}

double rate_of(const workload& w, double capacity) noexcept {
  if (!is_drawn(w)) return 0;
  return w.rate ? *w.rate : w.load * capacity * 1e9 / mean_work_ns(w);
}

} // namespace

struct arrival_stream::state {
  state(const workload& w, double capacity, std::uint64_t seed)
      : rate(rate_of(w, capacity)),
        service(w.service),
        services(seed, named("services")) {
    if (is_drawn(w)) times.emplace(w, rate, seed);
    if (w.shape != workload::kind::trace) return;
    trace.emplace(w.file);
    first = trace->next();
    if (!first) throw workload_error(w.file.string() + ": has no arrivals");
  }

  double rate;
  service_time service;
  random_stream services;
  std::optional<arrival_times> times;
  std::optional<trace_file> trace;
  std::optional<arrival> first; ///< of the trace, held for `next`, so that an empty trace is seen at once
};

arrival_stream::arrival_stream(const workload& w, double capacity, std::uint64_t seed)
    : state_(std::make_unique<state>(w, capacity, seed)) {}
arrival_stream::~arrival_stream() = default;
arrival_stream::arrival_stream(arrival_stream&&) noexcept = default;
arrival_stream& arrival_stream::operator=(arrival_stream&&) noexcept = default;

std::optional<arrival> arrival_stream::next() {
  state& s = *state_;
  if (s.times) return arrival{s.times->next(), s.service.draw(s.services), {}, {}};
  if (s.first) return std::exchange(s.first, std::nullopt);
  return s.trace ? s.trace->next() : std::nullopt;
}

double arrival_stream::rate() const noexcept { return state_->rate; }

workload with_rate(workload w, double capacity) {
  if (is_drawn(w)) w.rate = rate_of(w, capacity);
  return w;
}

std::uint64_t tasks_that_come(const workload& w, std::uint64_t most) {
  if (w.shape != workload::kind::trace) return most;
  arrival_stream all(w, 1, 1);
  std::uint64_t come = 0;
  while (come < most && all.next()) ++come;
  return come;
}

} // namespace corewise
