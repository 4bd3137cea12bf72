#include "machines.hpp"

#include <algorithm>
#include <tuple>

namespace corewise::command {

namespace {

std::string text_of(const live_source& s) { return s.root; }
std::string text_of(const xml_source& s) { return s.file; }
std::string text_of(const synthetic_source& s) { return s.text; }

bool same(const machine_source& a, const machine_source& b) {
  const auto text = [](const machine_source& s) {
    return std::visit([](const auto& source) { return text_of(source); }, s);
  };
  return a.index() == b.index() && text(a) == text(b);
}

bool same(const machine_description::selection& a, const machine_description::selection& b) {
  return std::tie(a.packages, a.nodes, a.kinds, a.cpus, a.reserve) ==
         std::tie(b.packages, b.nodes, b.kinds, b.cpus, b.reserve);
}

/// Returns whether discovery would find the same machine for both; it does not look at costs.
bool same(const machine_description& a, const machine_description& b) {
  const auto same_kind = [](const kind_description& x, const kind_description& y) {
    return std::tie(x.cpus, x.name, x.capacity) == std::tie(y.cpus, y.name, y.capacity);
  };
  return same(a.source, b.source) && same(a.use, b.use) && a.source_name == b.source_name &&
         a.distances == b.distances && a.capacities == b.capacities &&
         std::ranges::equal(a.kinds, b.kinds, same_kind);
}

} // namespace

std::shared_ptr<simulated_machine> machine_finder::find(const profile& p) {
  const machine_description& wanted = p.topology.machine;
  auto at = std::ranges::find_if(found_, [&](const found& f) { return same(f.description, wanted); });
  if (at == found_.end())
    at = found_.insert(at, {wanted, std::make_shared<const topology>(discover(wanted))});
  return std::make_shared<simulated_machine>(p, at->machine);
}

} // namespace corewise::command
