#include "kind_speed.hpp"

#include "together.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace corewise::command {

kind_speed_probe::kind_speed_probe(const topology& machine) {
  for (const core_kind& k : machine.kinds()) {
    kind& own = kinds_.emplace_back();
    own.name = k.name;
    own.cpus = k.cpus;
  }
  for (const core& c : machine.cores()) kinds_[c.kind].cores.push_back(c.cpus.first());
}

/// Runs each kernel once to fill the caches and to raise the clock, then once for the figure.
void kind_speed_probe::measure_round(kind& k, std::uint32_t cpu) {
  const refusal why = run_on(cpu, [&] {
    for (std::size_t i = 0; i < kernel_names.size(); ++i) (void)kernels_.run(i);
    for (std::size_t i = 0; i < kernel_names.size(); ++i) k.times[i].push_back(kernels_.run(i));
  });
  if (why) k.why_not = why;
}

void kind_speed_probe::measure(steady_time until) {
  do {
    for (kind& k : kinds_) measure_round(k, k.cores[turn_ % k.cores.size()]);
    ++turn_;
  } while (now() < until);
}

void kind_speed_probe::report(calibration& into) const {
  std::vector<std::array<std::vector<double>, kernel_names.size()>> times;
  for (const kind& k : kinds_) times.push_back(k.times);
  const auto capacities = capacities_of(times);
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    kind_finding& found = into.kinds.emplace_back();
    found.name = kinds_[k].name;
    found.cpus = kinds_[k].cpus;
    const std::string why_not = kinds_[k].why_not.value_or("too few rounds in the given time");
    for (std::size_t i = 0; i < kernel_names.size(); ++i) {
      found.kernels[i].value = spread_of(kinds_[k].times[i]);
      if (!found.kernels[i].value) found.kernels[i].why_not = why_not;
    }
    if (kinds_.size() == 1)
      found.capacity.why_not = "one kind of core: nothing to compare";
    else if (capacities[k])
      found.capacity.value = capacities[k];
    else
      found.capacity.why_not = why_not;
  }
}

} // namespace corewise::command
