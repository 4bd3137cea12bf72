#include "report_figures.hpp"

#include <algorithm>
#include <cmath>

namespace corewise {

namespace {

/// Returns a / b; 0 where there is nothing to divide by.
double share(double a, double b) { return b > 0 ? a / b : 0; }

void add_responses(std::vector<figure>& to, const simulation_result& r) {
  to.push_back({{"response_mean_ns"}, r.response.mean()});
  to.push_back({{"response_p50_ns"}, r.response.quantile(0.5)});
  to.push_back({{"response_p99_ns"}, r.response.quantile(0.99)});
  to.push_back({{"response_p99_9_ns"}, r.response.quantile(0.999)});
  to.push_back({{"response_p99_99_ns"}, r.response.quantile(0.9999)});
  to.push_back({{"response_max_ns"}, r.response.max()});
  to.push_back({{"slowdown_mean"}, r.slowdown.mean() / 1000});
  to.push_back({{"slowdown_p50"}, r.slowdown.quantile(0.5) / 1000});
  to.push_back({{"slowdown_p99"}, r.slowdown.quantile(0.99) / 1000});
}

void add_levels(std::vector<figure>& to, const std::string& what,
                const std::array<std::uint64_t, level_count>& counts) {
  for (std::size_t l = 0; l < level_count; ++l)
    to.push_back(
        {{what, std::string(machine_costs::name_of(static_cast<level>(l)))}, static_cast<double>(counts[l])});
}

void add_kinds(std::vector<figure>& to, const simulation_result& r) {
  for (const auto& kind : r.kinds) {
    to.push_back({{"kinds", kind.name, "workers"}, static_cast<double>(kind.workers)});
    to.push_back({{"kinds", kind.name, "busy_share"}, kind.busy});
    to.push_back({{"kinds", kind.name, "idle_share"}, kind.idle});
    to.push_back({{"kinds", kind.name, "tasks"}, static_cast<double>(kind.tasks)});
    to.push_back({{"kinds", kind.name, "joules"}, kind.joules});
  }
}

} // namespace

std::string figure::name() const {
  std::string name;
  for (const std::string& level : path) name += (name.empty() ? "" : ".") + level;
  return name;
}

std::vector<figure> figures_of(const simulation_result& r) {
  const auto tasks = static_cast<double>(r.tasks);
  std::vector<figure> all;
  add_responses(all, r);
  all.push_back({{"throughput_tasks_per_s"}, r.throughput()});
  all.push_back({{"mean_tasks_in_system"}, r.mean_in_system});
  all.push_back({{"busy_share"}, r.busy});
  all.push_back({{"crossed_share"}, r.crossed()});
  add_levels(all, "ran_at_tasks", r.ran_at);
  add_levels(all, "stolen_at_tasks", r.stolen_at);
  all.push_back({{"placed_tasks"}, static_cast<double>(r.placed)});
  all.push_back({{"wake_ups"}, static_cast<double>(r.wake_ups)});
  all.push_back({{"parks"}, static_cast<double>(r.parks)});
  all.push_back({{"energy_joules"}, r.joules()});
  all.push_back({{"energy_joules_per_million_tasks"}, share(r.joules() * 1e6, tasks)});
  add_kinds(all, r);
  all.push_back({{"measured_tasks"}, tasks});
  all.push_back({{"measured_ns"}, static_cast<double>(r.measured_ns)});
  all.push_back({{"ended_ns"}, static_cast<double>(r.ended_ns)});
  all.push_back({{"events"}, static_cast<double>(r.events)});
  return all;
}

std::vector<figure> figures_of(const profile_runs& runs) {
  std::vector<std::vector<figure>> of_runs;
  std::vector<double> p99;
  for (const simulation_result& r : runs.runs) {
    of_runs.push_back(figures_of(r));
    p99.push_back(r.response.quantile(0.99));
  }
  std::vector<figure> all = of_runs.at(0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<double> values;
    for (const auto& figures : of_runs) values.push_back(figures.at(i).value);
    all[i].value = median(std::move(values));
  }
  all.insert(all.begin() + 3, // after the p99
             {{{"response_p99_least_ns"}, std::ranges::min(p99)},
              {{"response_p99_most_ns"}, std::ranges::max(p99)}});
  return all;
}

double median(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  const std::size_t half = numbers.size() / 2;
  return numbers.size() % 2 == 1 ? numbers[half] : (numbers[half - 1] + numbers[half]) / 2;
}

bool profile_runs::is_void() const noexcept {
  histogram first_halves;
  histogram second_halves;
  for (const simulation_result& r : runs) first_halves.add(r.first_half), second_halves.add(r.second_half);
  const double first = first_halves.quantile(0.99);
  return first_halves.count() == 0 || second_halves.count() == 0 ||
         std::abs(second_halves.quantile(0.99) - first) > 0.05 * first;
}

} // namespace corewise
