#include "fleet_rules.hpp"

#include <corewise/simulator/fleet.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <stdexcept>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// Servers that answer what a test says.
struct told final : detail::asked_servers {
  detail::server_state ask(std::uint32_t server) const override {
    ++probes;
    return states[server];
  }
  std::uint32_t weight(std::uint32_t server) const override { return weights[server]; }

  std::vector<detail::server_state> states;
  std::vector<std::uint32_t> weights;
  mutable int probes = 0;
};

/// The probability that a request has to wait, with that many places and load (Erlang C).
double erlang_c(int places, double load) {
  const double offered = places * load;
  double term = 1;
  double sum = 1;
  for (int i = 1; i < places; ++i) sum += term *= offered / i;
  term *= offered / places;
  const double waits = term / (1 - load);
  return waits / (sum + waits);
}

} // namespace

TEST_CASE("fleet: one server is the queue that theory knows (M/M/c)") {
  fleet_options o;
  o.servers = 1;
  o.load = .8;
  o.time = 3000s;
  const fleet_report r = simulate_fleet(o);
  const double service = 40e6;
  const double mean = service + erlang_c(8, .8) * service / (8 * (1 - .8));
  CHECK(r.latency.mean() == doctest::Approx(mean).epsilon(.02));
  CHECK(r.in_time == r.requests);
  CHECK(static_cast<double>(r.requests) == doctest::Approx(3000 * 8 * .8 / .04).epsilon(.01));
}

TEST_CASE("fleet: the same options give the same report, and all rules meet as many requests") {
  fleet_options o;
  o.time = 20s;
  std::uint64_t requests = 0;
  for (const balancing_rule rule : balancing_rules) {
    o.rule = rule;
    const fleet_report a = simulate_fleet(o);
    const fleet_report b = simulate_fleet(o);
    CHECK(a.latency.quantile(.99) == b.latency.quantile(.99));
    CHECK(a.shares == b.shares);
    CHECK((requests == 0 || a.requests == requests));
    requests = a.requests;
    CHECK(std::accumulate(a.shares.begin(), a.shares.end(), 0.0) == doctest::Approx(1));
    CHECK(balancing_rule_of(to_string(rule)) == rule);
  }
  CHECK_FALSE(balancing_rule_of("round").has_value());
}

TEST_CASE("fleet: each request is refused, expires, or is answered") {
  fleet_options o;
  o.load = 1.5;
  o.deadline = 200ms;
  o.in_flight = 40;
  o.time = 30s;
  for (const balancing_rule rule : balancing_rules) {
    o.rule = rule;
    const fleet_report r = simulate_fleet(o);
    CHECK(r.refused + r.expired + r.latency.count() == r.requests);
    CHECK(r.in_time <= r.latency.count());
    // The servers do what they can, two thirds of what comes; some of it too late.
    CHECK(static_cast<double>(r.latency.count()) / static_cast<double>(r.requests) ==
          doctest::Approx(2 / 3.).epsilon(.05));
  }
}

TEST_CASE("fleet: a slowed server gets less, and one with fewer places, too") {
  fleet_options o;
  o.time = 60s;
  o.slow_speed = .5;
  for (const balancing_rule rule : balancing_rules) {
    o.rule = rule;
    CHECK(simulate_fleet(o).shares.back() < .28);
  }
  o.slow_speed = 1;
  o.slow_places = 4;
  o.rule = balancing_rule::agent_weights;
  const double by_weight = simulate_fleet(o).shares.back();
  o.rule = balancing_rule::least_connections;
  CHECK(by_weight < simulate_fleet(o).shares.back()); // only its agent knows of the places
}

TEST_CASE("fleet: the fewest requests for the weight are chosen, and servers without any in turn") {
  told servers;
  servers.states.resize(3);
  servers.weights = {100, 50, 100};
  const auto by_weight = detail::make_balancer(balancing_rule::agent_weights, 3, random_stream(1, 1));
  std::vector<std::uint32_t> first;
  for (int i = 0; i < 3; ++i) {
    first.push_back(by_weight->choose(0, servers));
    by_weight->begun(first.back());
  }
  CHECK(first == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(by_weight->choose(0, servers) != 1);
  by_weight->ended(1);
  CHECK(by_weight->choose(0, servers) == 1);
  CHECK(servers.probes == 0); // which cost much more than a weight
}

TEST_CASE("fleet: Prequal's rule takes the quickest of the servers that are not among the fullest") {
  const auto probes = detail::make_balancer(balancing_rule::prequal, 32, random_stream(7, 1));
  told servers;
  servers.states.assign(32, {5, 50});
  for (std::size_t i = 0; i < 4; ++i) servers.states[i] = {20, 1}; // quick, but full, as fewer than 16% are
  for (std::size_t i = 24; i < 32; ++i) servers.states[i] = {5, 10};
  int quick = 0;
  int full = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t to = probes->choose(i * 1'000'000, servers);
    quick += to >= 24 ? 1 : 0;
    full += to < 4 ? 1 : 0;
  }
  CHECK(quick > 600); // of 250 by chance
  CHECK(full < 100);
}

TEST_CASE("fleet: options that make no sense are refused") {
  const auto refused = [](auto change) {
    fleet_options o;
    change(o);
    CHECK_THROWS_AS(static_cast<void>(simulate_fleet(o)), std::invalid_argument);
  };
  refused([](fleet_options& o) { o.servers = 0; });
  refused([](fleet_options& o) { o.balancers = 0; });
  refused([](fleet_options& o) { o.places = 0; });
  refused([](fleet_options& o) { o.slow_places = 0; });
  refused([](fleet_options& o) { o.load = 0; });
  refused([](fleet_options& o) { o.slow_speed = 0; });
  refused([](fleet_options& o) { o.slow_speed = 2; });
  refused([](fleet_options& o) { o.service = 0ns; });
  refused([](fleet_options& o) { o.deadline = 0ns; });
  refused([](fleet_options& o) { o.time = 0ns; });
}

TEST_CASE("fleet: all rules meet the same requests: with one server there is nothing to choose") {
  fleet_options o;
  o.servers = 1;
  o.load = 1.2;
  o.deadline = 400ms;
  o.in_flight = 32;
  o.time = 60s;
  const fleet_report first = simulate_fleet(o);
  CHECK(first.refused > 0);
  for (const balancing_rule rule : balancing_rules) {
    o.rule = rule;
    const fleet_report report = simulate_fleet(o);
    CHECK(report.requests == first.requests);
    CHECK(report.in_time == first.in_time);
    CHECK(report.latency.mean() == first.latency.mean());
  }
  o.servers = 2; // another choice refuses others, and draws as many
  o.rule = balancing_rule::two_random;
  const std::uint64_t requests = simulate_fleet(o).requests;
  o.rule = balancing_rule::least_connections;
  CHECK(simulate_fleet(o).requests == requests);
}

TEST_CASE(
    "fleet: requests that come after the time that is counted are not simulated until the last one ends") {
  fleet_options o;
  o.load = 40;
  o.settle = 1s;
  o.time = 4s;
  for (const balancing_rule rule : balancing_rules) {
    o.rule = rule;
    const fleet_report r = simulate_fleet(o);
    // Each request comes and ends, and the servers are checked each second until the last one has ended.
    const double most = 2 * 1.1 * static_cast<double>(r.requests) * 5 / 4 + 5 * 1.5 * o.load;
    CHECK(static_cast<double>(r.events) < most);
    CHECK(r.latency.count() == r.requests);
  }
}

TEST_CASE("fleet: a run of more than a billion requests is refused") {
  fleet_options o;
  o.service = 10ns;
  o.servers = 1000;
  CHECK_THROWS_AS(simulate_fleet(o), std::invalid_argument);
}

TEST_CASE("fleet: times that no run reaches are refused") {
  fleet_options o;
  o.service = o.settle = o.time = std::chrono::nanoseconds::max();
  CHECK_THROWS_AS(simulate_fleet(o), std::invalid_argument);
  o = {};
  o.time = 1s;
  o.slow_speed = 1e-300; // the last server never gets done with a request
  o.slow_phase = std::chrono::hours{1};
  CHECK_THROWS_AS(simulate_fleet(o), std::invalid_argument);
}
