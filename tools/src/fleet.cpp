#include "exit_status.hpp"
#include "number_options.hpp"
#include "streams.hpp"
#include "subcommands.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/simulator/fleet.hpp>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace corewise::command {

namespace {

struct fleet_command {
  fleet_options fleet;
  std::vector<double> loads{.5, .75, .9};
  std::vector<std::string> rules;
  double service_ms = 40;
  double slow_phase_s = 0;
  double deadline_ms = 0;
  double seconds = 120;
  std::uint32_t slow_places = 0;
  std::uint32_t seeds = 3;
};

std::chrono::nanoseconds time_of(double value, std::chrono::nanoseconds unit) {
  return std::chrono::nanoseconds{std::llround(value * static_cast<double>(unit.count()))};
}

/// Returns the options of the runs, without load, rule and seed.
fleet_options common_of(const fleet_command& c) {
  using namespace std::chrono_literals;
  fleet_options o = c.fleet;
  o.service = time_of(c.service_ms, 1ms);
  if (c.slow_phase_s > 0) o.slow_phase = time_of(c.slow_phase_s, 1s);
  if (c.slow_places > 0) o.slow_places = c.slow_places;
  if (c.deadline_ms > 0) o.deadline = time_of(c.deadline_ms, 1ms);
  o.time = time_of(c.seconds, 1s);
  return o;
}

/// The runs of one rule at one load, added up.
struct row {
  fleet_options options; ///< with the first seed
  std::vector<future<fleet_report>> runs = {};
};

fleet_report sum_of(std::vector<future<fleet_report>>& runs) {
  fleet_report all;
  for (future<fleet_report>& run : runs) {
    const fleet_report one = run.get();
    all.requests += one.requests;
    all.refused += one.refused;
    all.expired += one.expired;
    all.in_time += one.in_time;
    all.latency.add(one.latency);
    all.shares.resize(one.shares.size());
    for (std::size_t i = 0; i < one.shares.size(); ++i)
      all.shares[i] += one.shares[i] / static_cast<double>(runs.size());
  }
  return all;
}

std::string percent_of(std::uint64_t part, std::uint64_t all) {
  return fmt::format("{:.1f}%", all == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(all));
}

std::vector<balancing_rule> rules_of(const fleet_command& c) {
  std::vector<balancing_rule> rules;
  for (const std::string& name : c.rules) rules.push_back(*balancing_rule_of(name));
  if (rules.empty()) rules.assign(std::begin(balancing_rules), std::end(balancing_rules));
  return rules;
}

void print_head() {
  print(fmt::format("{:>5}  {:<10} {:>9} {:>9} {:>6}  {:>8} {:>8} {:>8}  {}\n", "load", "rule", "p50", "p99",
                    "ratio", "in time", "refused", "expired", "the last server's share"));
}

/// Returns the options of all runs, by row. Throws `std::invalid_argument` where those of any row are wrong.
std::vector<row> rows_of(const fleet_command& c) {
  std::vector<row> rows;
  for (const double load : c.loads)
    for (const balancing_rule rule : rules_of(c)) {
      fleet_options o = common_of(c);
      o.load = load;
      o.rule = rule;
      check_fleet(o);
      rows.push_back({o});
    }
  return rows;
}

int run_fleet(const fleet_command& c) {
  std::vector<row> rows = rows_of(c);
  profile quiet;
  quiet.blocking.stuck_after = std::nullopt; // runs take seconds, and do nothing else
  engine e(quiet);
  for (row& r : rows)
    for (std::uint32_t i = 0; i < c.seeds; ++i) {
      fleet_options o = r.options;
      o.seed += i;
      r.runs.push_back(e.run([o] { return simulate_fleet(o); }));
    }
  double first_p99 = 0;
  double last_load = 0;
  for (row& r : rows) {
    const fleet_report report = sum_of(r.runs);
    if (&r == &rows.front()) print_head();
    const double p99 = report.latency.quantile(.99) / 1e6;
    if (r.options.load != last_load) first_p99 = p99; // of the first rule at that load
    last_load = r.options.load;
    print(fmt::format("{:>5.2f}  {:<10} {:>6.1f} ms {:>6.1f} ms {:>6.2f}  {:>8} {:>8} {:>8}  {:.1f}%\n",
                      r.options.load, to_string(r.options.rule), report.latency.quantile(.5) / 1e6, p99,
                      first_p99 > 0 ? p99 / first_p99 : 0, percent_of(report.in_time, report.requests),
                      percent_of(report.refused, report.requests),
                      percent_of(report.expired, report.requests), 100 * report.shares.back()));
  }
  return done;
}

void add_options(CLI::App& app, fleet_command& c) {
  constexpr double longest_ms = 3.6e6;
  constexpr double longest_s = 1e6;
  app.add_option("--servers", c.fleet.servers, "The number of servers")
      ->check(whole_number(1, 10'000))
      ->capture_default_str();
  app.add_option("--balancers", c.fleet.balancers,
                 "The number of balancers, each of which knows its own requests only")
      ->check(whole_number(1, 10'000))
      ->capture_default_str();
  app.add_option("--places", c.fleet.places, "Requests on which a server works at once")
      ->check(whole_number(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--service-ms", c.service_ms, "The mean time that a request takes, in ms")
      ->check(number_between(1e-6, longest_ms))
      ->capture_default_str();
  app.add_option(
         "--service-parts", c.fleet.service_parts,
         "Of how many exponentially distributed parts that time is the sum: the more, the less times differ")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  app.add_option("--load", c.loads, "Requests that come, of those that the servers can do; several")
      ->delimiter(',')
      ->check(number_between(.001, 100))
      ->capture_default_str();
  app.add_option("--rule", c.rules, "leastconn, random2, agent or prequal; several; all by default")
      ->delimiter(',')
      ->check(CLI::IsMember({"leastconn", "random2", "agent", "prequal"}));
  app.add_option("--slow-speed", c.fleet.slow_speed, "The speed of the last server, 1 is full")
      ->check(number_between(.001, 1))
      ->capture_default_str();
  app.add_option("--slow-phase-s", c.slow_phase_s,
                 "For how many seconds it is slowed, and then not, in turn; always by default")
      ->check(number_between(.001, longest_s));
  app.add_option("--slow-places", c.slow_places,
                 "The places of the last server; as many as the others have by default")
      ->check(whole_number(1, 1'000'000));
  app.add_option("--deadline-ms", c.deadline_ms,
                 "A request that has not begun by then is dropped; none by default")
      ->check(number_between(1e-6, longest_ms));
  app.add_option("--in-flight", c.fleet.in_flight,
                 "Requests that a server accepts at most; 0, the default, is no limit")
      ->check(whole_number(0, 1'000'000'000));
  app.add_option("--seconds", c.seconds, "The time of each run that is counted, after 10 s to settle")
      ->check(number_between(.001, longest_s))
      ->capture_default_str();
  app.add_option("--seed", c.fleet.seed, "The first seed")
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str();
  app.add_option("--seeds", c.seeds, "The number of runs, each with its own seed")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
}

} // namespace

void add_fleet(CLI::App& app, action& chosen) {
  auto options = std::make_shared<fleet_command>();
  CLI::App* sub =
      app.add_subcommand("fleet", "Simulate servers behind balancers, by several rules of balancing");
  add_options(*sub, *options);
  sub->footer("The ratio is that of the p99 to that of the first rule at the same load. All rules meet the "
              "same requests.\n"
              "docs/fleet.md explains the rules and the results.\n\n"
              "Examples:\n"
              "  corewise fleet --slow-speed .5 --load .5,.75,.9\n"
              "  corewise fleet --servers 32 --balancers 16 --slow-speed .25 --slow-phase-s 5 --rule "
              "leastconn,prequal\n"
              "  corewise fleet --load 1.2,1.5 --deadline-ms 400 --in-flight 32");
  sub->callback([options, &chosen] { chosen = [options] { return run_fleet(*options); }; });
}

} // namespace corewise::command
