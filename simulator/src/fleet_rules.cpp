#include "fleet_rules.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace corewise::detail {

namespace {

/// The server with the fewest own requests for its weight; of equal ones, and of those that have none, in turn. Source:
/// `fwlc_queue_srv` in HAProxy 2.6.
class least_of_all final : public balancer {
 public:
  least_of_all(std::uint32_t servers, random_stream random, bool weighs)
      : balancer(servers, random),
        weighs_(weighs) {}

  std::uint32_t choose(std::int64_t /*now_ns*/, const asked_servers& servers) override {
    std::uint32_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t i = 0; i < size(); ++i) {
      const std::uint32_t server = (next_ + i) % size();
      const double weight = weighs_ ? servers.weight(server) : 100;
      const double load = own(server) == 0 ? 0 : (own(server) + 1) / weight;
      if (load >= least) continue;
      least = load;
      best = server;
    }
    next_ = (best + 1) % size();
    return best;
  }

 private:
  const bool weighs_;
  std::uint32_t next_ = 0;
};

class less_of_two final : public balancer {
 public:
  using balancer::balancer;

  std::uint32_t choose(std::int64_t /*now_ns*/, const asked_servers& /*servers*/) override {
    const std::uint32_t a = random().below(size());
    const std::uint32_t b = random().below(size());
    return own(b) < own(a) ? b : a;
  }
};

/// Prequal's rule, with the numbers of the paper: 3 probes for each request, of which one is removed again, a pool of 16,
/// an age of at most 1 s, and the 84th percentile of requests in flight between cold and hot.
class hot_and_cold final : public balancer {
 public:
  hot_and_cold(std::uint32_t servers, random_stream random)
      : balancer(servers, random),
        most_uses_(uses(servers)) {}

  std::uint32_t choose(std::int64_t now_ns, const asked_servers& servers) override {
    std::erase_if(pool_, [&](const probe& p) { return p.at_ns + oldest_ns < now_ns; });
    const std::uint32_t server = pool_.size() < 2 ? this->random().below(size()) : take_best();
    remove_one();
    for (int i = 0; i < probes_each; ++i) add(this->random().below(size()), now_ns, servers);
    return server;
  }

 private:
  static constexpr std::size_t pool_size = 16;
  static constexpr int probes_each = 3;
  static constexpr std::int64_t oldest_ns = 1'000'000'000;
  static constexpr double hot_from = 0.84;
  static constexpr std::size_t remembered = 128; // answers, for the distribution of requests in flight

  struct probe {
    std::uint32_t server;
    std::uint32_t in_flight;
    std::int64_t latency_ns;
    std::int64_t at_ns;
    std::uint32_t uses;
  };

  /// Returns how often an answer is used, as the paper reckons it.
  static std::uint32_t uses(std::uint32_t servers) {
    const double fresh = (1 - std::min(1.0, pool_size / static_cast<double>(servers))) * probes_each - 1;
    return fresh <= 0.125 ? 16 : static_cast<std::uint32_t>(std::max(1.0, std::ceil(2 / fresh)));
  }

  std::uint32_t threshold() {
    std::vector<std::uint32_t> sorted = seen_;
    const auto at = static_cast<std::ptrdiff_t>(hot_from * static_cast<double>(sorted.size()));
    std::ranges::nth_element(sorted, sorted.begin() + at);
    return sorted[static_cast<std::size_t>(at)];
  }

  /// Returns how good an answer is, the best first: of the cold ones the quickest, then of the hot ones the emptiest.
  static auto order(std::uint32_t hot) {
    return [hot](const probe& p) {
      const bool cold = p.in_flight <= hot;
      return std::pair(!cold, cold ? p.latency_ns : std::int64_t{p.in_flight});
    };
  }

  std::uint32_t take_best() {
    const auto best = std::ranges::min_element(pool_, {}, order(threshold()));
    const std::uint32_t server = best->server;
    ++best->in_flight; // this request
    if (--best->uses == 0) pool_.erase(best);
    return server;
  }

  /// Removes the oldest and the worst in turn.
  void remove_one() {
    if (pool_.size() < 2) return;
    removes_oldest_ = !removes_oldest_;
    pool_.erase(removes_oldest_ ? std::ranges::min_element(pool_, {}, &probe::at_ns)
                                : std::ranges::max_element(pool_, {}, order(threshold())));
  }

  void add(std::uint32_t server, std::int64_t now_ns, const asked_servers& servers) {
    const server_state state = servers.ask(server);
    if (pool_.size() == pool_size) pool_.erase(std::ranges::min_element(pool_, {}, &probe::at_ns));
    pool_.push_back({server, state.in_flight, state.latency_ns, now_ns, most_uses_});
    if (seen_.size() < remembered)
      seen_.push_back(state.in_flight);
    else
      seen_[seen_at_++ % remembered] = state.in_flight;
  }

  const std::uint32_t most_uses_;
  std::vector<probe> pool_;
  std::vector<std::uint32_t> seen_;
  std::size_t seen_at_ = 0;
  bool removes_oldest_ = false;
};

} // namespace

std::unique_ptr<balancer> make_balancer(balancing_rule rule, std::uint32_t servers, random_stream random) {
  switch (rule) {
  case balancing_rule::two_random: return std::make_unique<less_of_two>(servers, random);
  case balancing_rule::prequal: return std::make_unique<hot_and_cold>(servers, random);
  case balancing_rule::agent_weights: return std::make_unique<least_of_all>(servers, random, true);
  case balancing_rule::least_connections: break;
  }
  return std::make_unique<least_of_all>(servers, random, false);
}

} // namespace corewise::detail
