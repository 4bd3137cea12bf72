#include "event_queue.hpp"
#include "fleet_rules.hpp"
#include "time_limit.hpp"

#include <corewise/engine/load.hpp>
#include <corewise/simulator/fleet.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <stdexcept>
#include <utility>

namespace corewise {

namespace {

using detail::balancer;
using detail::server_state;

constexpr std::int64_t check_period_ns = 1'000'000'000;

struct rule_name {
  balancing_rule rule;
  std::string_view name;
};
constexpr rule_name rule_names[] = {{balancing_rule::least_connections, "leastconn"},
                                    {balancing_rule::two_random, "random2"},
                                    {balancing_rule::agent_weights, "agent"},
                                    {balancing_rule::prequal, "prequal"}};

void check(bool right, const char* what) {
  if (!right) throw std::invalid_argument(what);
}

/// Returns the mean time between two requests.
double gap_ns_of(const fleet_options& o) {
  const double last = o.slow_places.value_or(o.places);
  double places = static_cast<double>(o.servers - 1) * o.places + last;
  if (!o.slow_phase) places -= last * (1 - o.slow_speed);
  return static_cast<double>(o.service.count()) / (places * o.load);
}

/// Returns a time in whole ns; one that no run reaches as the latest one.
std::int64_t whole(double ns) noexcept {
  constexpr auto most = static_cast<double>(latest_time_ns);
  return ns < most ? static_cast<std::int64_t>(ns) : latest_time_ns;
}

/// A request on its way.
struct request {
  std::int64_t came_ns;
  double service_ns; ///< at full speed
  std::uint32_t balancer;
  std::uint32_t server;
  std::uint32_t found; ///< requests in flight there when it came
  bool counted;
};

/// The latest latencies of requests by how many they found in flight (as `request_meter`).
class latency_memory {
 public:
  void add(std::uint32_t found, std::int64_t latency_ns) {
    const std::size_t at = std::min<std::size_t>(found, most);
    if (at >= of_.size()) of_.resize(at + 1);
    std::deque<std::int64_t>& own = of_[at];
    own.push_back(latency_ns);
    if (own.size() > kept) own.pop_front();
  }
  /// Returns the median of at least four, of requests that found about as many.
  std::int64_t near(std::uint32_t found) const {
    std::vector<std::int64_t> samples;
    const auto take = [&](std::size_t at) {
      if (at < of_.size()) samples.insert(samples.end(), of_[at].begin(), of_[at].end());
    };
    const std::size_t own = std::min<std::size_t>(found, most);
    take(own);
    for (std::size_t d = 1; samples.size() < 4 && (d <= own || own + d < of_.size()); ++d) {
      if (d <= own) take(own - d);
      take(own + d);
    }
    if (samples.empty()) return 0;
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::ranges::nth_element(samples, middle);
    return *middle;
  }

 private:
  static constexpr std::size_t most = 511;
  static constexpr std::size_t kept = 8;
  std::vector<std::deque<std::int64_t>> of_;
};

struct server {
  std::uint32_t places = 0;
  std::uint32_t busy = 0;
  std::uint32_t in_flight = 0;
  std::deque<std::uint32_t> waiting; // requests
  latency_memory latencies;
  smooth_free_share share;
  std::uint32_t weight = 100;
  std::uint64_t found = 0; // since the last check: in flight, as requests found it
  std::uint64_t begun = 0;
};

class fleet_run final : detail::asked_servers {
 public:
  explicit fleet_run(const fleet_options& o)
      : o_(o),
        servers_(o.servers),
        arrivals_(o.seed, 1),
        services_(o.seed, 2),
        balancer_draws_(o.seed, 3),
        gap_ns_(gap_ns_of(o)) {
    for (server& s : servers_) s.places = o.places;
    if (o.slow_places) servers_.back().places = *o.slow_places;
    for (std::uint32_t b = 0; b < o.balancers; ++b)
      balancers_.push_back(detail::make_balancer(o.rule, o.servers, random_stream(o.seed, 100 + b)));
    report_.shares.assign(o.servers, 0);
  }

  fleet_report run() {
    const std::int64_t end = (o_.settle + o_.time).count();
    push_arrival();
    events_.push(check_period_ns, {kind::check, 0});
    // Requests that came in time are followed to their end.
    while (!events_.empty() && (now_ns_ < end || counted_open_ != 0)) {
      const auto next = events_.pop();
      now_ns_ = next.time_ns;
      ++report_.events;
      switch (next.event.what) {
      case kind::arrival:
        arrive();
        if (now_ns_ < end) push_arrival(); // a later one would change nothing that is counted
        break;
      case kind::end: finish(next.event.request); break;
      case kind::check: check_servers(); break;
      }
    }
    const double all = static_cast<double>(report_.requests - report_.refused);
    for (double& share : report_.shares) share = all == 0 ? 0 : share / all;
    return std::move(report_);
  }

 private:
  enum class kind : std::uint8_t { arrival, end, check };
  struct event {
    kind what;
    std::uint32_t request;
  };

  server_state ask(std::uint32_t which) const override {
    const server& s = servers_[which];
    return {s.in_flight, s.latencies.near(s.in_flight)};
  }
  std::uint32_t weight(std::uint32_t which) const override { return servers_[which].weight; }

  void push_arrival() {
    arrives_ns_ += gap_ns_ * arrivals_.exponential();
    events_.push(whole(arrives_ns_), {kind::arrival, 0});
  }

  double draw_service() {
    double parts = 0;
    for (std::uint32_t p = 0; p < o_.service_parts; ++p) parts += services_.exponential();
    return static_cast<double>(o_.service.count()) * parts / o_.service_parts;
  }

  void arrive() {
    const std::int64_t end = (o_.settle + o_.time).count();
    const bool counted = now_ns_ >= o_.settle.count() && now_ns_ < end;
    const double service_ns =
        draw_service(); // also of one that is refused: each rule meets the same requests
    const std::uint32_t b = balancer_draws_.below(o_.balancers);
    const std::uint32_t to = balancers_[b]->choose(now_ns_, *this);
    server& s = servers_[to];
    report_.requests += counted;
    if (o_.in_flight != 0 && s.in_flight >= o_.in_flight) {
      report_.refused += counted;
      return;
    }
    if (counted) ++counted_open_, report_.shares[to] += 1;
    const std::uint32_t id = make({now_ns_, service_ns, b, to, s.in_flight, counted});
    s.found += ++s.in_flight;
    ++s.begun;
    balancers_[b]->begun(to);
    s.waiting.push_back(id);
    work(to);
  }

  /// Lets the server take up what it has places for.
  void work(std::uint32_t which) {
    server& s = servers_[which];
    while (s.busy < s.places && !s.waiting.empty()) {
      const std::uint32_t id = s.waiting.front();
      s.waiting.pop_front();
      if (o_.deadline && now_ns_ - requests_[id].came_ns > o_.deadline->count()) {
        report_.expired += requests_[id].counted;
        forget(id);
        continue;
      }
      ++s.busy;
      const std::int64_t end = now_ns_ + whole(requests_[id].service_ns / speed_of(which));
      check(end < latest_time_ns, "a request would end after the simulated time, which is 146 years at most");
      events_.push(end, {kind::end, id});
    }
  }

  double speed_of(std::uint32_t which) const {
    if (which + 1 != o_.servers) return 1;
    const bool slowed = !o_.slow_phase || now_ns_ / o_.slow_phase->count() % 2 == 0;
    return slowed ? o_.slow_speed : 1;
  }

  void finish(std::uint32_t id) {
    const request& r = requests_[id];
    const std::int64_t latency = now_ns_ - r.came_ns;
    servers_[r.server].latencies.add(r.found, latency);
    if (r.counted) {
      report_.latency.add(static_cast<double>(latency));
      report_.in_time += !o_.deadline || latency <= o_.deadline->count();
    }
    const std::uint32_t which = r.server;
    --servers_[which].busy;
    forget(id);
    work(which);
  }

  void forget(std::uint32_t id) {
    const request& r = requests_[id];
    --servers_[r.server].in_flight;
    balancers_[r.balancer]->ended(r.server);
    counted_open_ -= r.counted ? 1 : 0;
    free_.push_back(id);
  }

  std::uint32_t make(const request& r) {
    if (free_.empty()) {
      requests_.push_back(r);
      return static_cast<std::uint32_t>(requests_.size() - 1);
    }
    const std::uint32_t id = free_.back();
    free_.pop_back();
    requests_[id] = r;
    return id;
  }

  /// Has each server say how much of its weight it can take, as `corewise::admin` does.
  void check_servers() {
    for (server& s : servers_) {
      load_report load;
      load.capacity = load.effective_capacity = 1;
      const double found =
          s.begun == 0 ? s.in_flight : static_cast<double>(s.found) / static_cast<double>(s.begun);
      load.utilization = found / s.places;
      const double share =
          s.share.add(load, std::chrono::steady_clock::time_point(std::chrono::nanoseconds{now_ns_}));
      s.weight = static_cast<std::uint32_t>(std::clamp(std::lround(100 * share), 1L, 100L));
      s.found = s.begun = 0;
    }
    events_.push(now_ns_ + check_period_ns, {kind::check, 0});
  }

  const fleet_options o_;
  std::vector<server> servers_;
  std::vector<std::unique_ptr<balancer>> balancers_;
  // Streams of their own, so that two rules meet the same requests.
  random_stream arrivals_;
  random_stream services_;
  random_stream balancer_draws_;
  const double gap_ns_;
  double arrives_ns_ = 0; // the next one
  std::int64_t now_ns_ = 0;
  detail::event_queue<event> events_;
  std::vector<request> requests_;
  std::vector<std::uint32_t> free_; // places in `requests_`
  std::uint64_t counted_open_ = 0;
  fleet_report report_;
};

} // namespace

std::string_view to_string(balancing_rule rule) noexcept {
  return std::ranges::find(rule_names, rule, &rule_name::rule)->name;
}

std::optional<balancing_rule> balancing_rule_of(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(rule_names, name, &rule_name::name);
  return found == std::end(rule_names) ? std::nullopt : std::optional(found->rule);
}

void check_fleet(const fleet_options& o) {
  check(o.servers > 0 && o.servers <= 10'000, "a fleet has 1 to 10,000 servers");
  check(o.balancers > 0 && o.balancers <= 10'000, "a fleet has 1 to 10,000 balancers");
  check(o.places > 0 && o.slow_places.value_or(1) > 0, "a server works on one request at least");
  check(o.service.count() > 0, "a request takes longer than 0");
  check(o.service_parts > 0 && o.service_parts <= 1000, "the time of a request has 1 to 1,000 parts");
  check(o.load > 0 && o.load <= 100, "the load is above 0, and at most 100");
  check(o.slow_speed > 0 && o.slow_speed <= 1, "a slowed server has a speed above 0, and at most 1");
  check(!o.slow_phase || o.slow_phase->count() > 0, "a server is slowed for longer than 0");
  check(!o.deadline || o.deadline->count() > 0, "a deadline is above 0");
  check(o.settle.count() >= 0 && o.time.count() > 0, "the time that is counted is above 0");
  const double all_ns = static_cast<double>(o.settle.count()) + static_cast<double>(o.time.count());
  check(all_ns < static_cast<double>(latest_time_ns), "a run ends within 146 years");
  check(all_ns / gap_ns_of(o) <= 1e9,
        "a run has at most 1,000,000,000 requests: take a longer service, a lower load or less time");
}

fleet_report simulate_fleet(const fleet_options& options) {
  check_fleet(options);
  return fleet_run(options).run();
}

} // namespace corewise
