#include <corewise/topology/costs.hpp>
#include <corewise/topology/detail/made_once.hpp>

#include <algorithm>
#include <vector>

namespace corewise {

namespace {

constexpr std::array<std::string_view, level_count> level_names{"same_group", "same_domain", "same_node",
                                                                "same_package", "cross_package"};

struct named_cost {
  std::string name;
  double* (*at)(machine_costs&);
};

template <std::size_t... L>
void add_levels(std::vector<named_cost>& costs, std::index_sequence<L...> /*levels*/) {
  const auto name = [](std::string_view of, std::size_t l) {
    return std::string(of) + '.' + std::string(level_names[l]);
  };
  (costs.push_back({name("transfer", L), [](machine_costs& c) { return &c.transfer[L]; }}), ...);
  (costs.push_back({name("steal", L), [](machine_costs& c) { return &c.steal[L]; }}), ...);
}

constinit const detail::made_once<std::vector<named_cost>> named_costs([] {
  std::vector<named_cost> costs{{"submit", [](machine_costs& c) { return &c.submit; }},
                                {"run", [](machine_costs& c) { return &c.run; }},
                                {"wake_up", [](machine_costs& c) { return &c.wake_up; }},
                                {"waking", [](machine_costs& c) { return &c.waking; }}};
  add_levels(costs, std::make_index_sequence<level_count>());
  costs.push_back({"slowdown.same_package", [](machine_costs& c) { return &c.slowdown.same_package; }});
  costs.push_back({"slowdown.cross_package", [](machine_costs& c) { return &c.slowdown.cross_package; }});
  costs.push_back({"slowdown.shared_core", [](machine_costs& c) { return &c.slowdown.shared_core; }});
  return costs;
});

constinit const detail::made_once<std::vector<std::string>> names([] {
  std::vector<std::string> all;
  for (const named_cost& c : named_costs.get()) all.push_back(c.name);
  return all;
});

} // namespace

std::string_view machine_costs::name_of(level l) noexcept { return level_names[static_cast<std::size_t>(l)]; }

std::span<const std::string> cost_names() { return names.get(); }

double* find_cost(machine_costs& costs, std::string_view name) {
  const auto& all = named_costs.get();
  const auto found = std::ranges::find(all, name, &named_cost::name);
  return found == all.end() ? nullptr : found->at(costs);
}

const double* find_cost(const machine_costs& costs, std::string_view name) {
  return find_cost(const_cast<machine_costs&>(costs), name);
}

} // namespace corewise
