#include "contradictions.hpp"

#include "issue_list.hpp"
#include "quotation.hpp"
#include "spelling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <ranges>

namespace corewise::detail {

namespace {

using contradiction_list = std::vector<contradiction>;

// More kinds than any machine has: a hostile file may have thousands, and as many names that mean none of them.
constexpr std::size_t shown_kinds = 8;     // in a message
constexpr std::size_t compared_kinds = 64; // with a name, for advice

void check_range(contradiction_list& found, const std::string& key, const integer_range& range) {
  if (range.min > range.max)
    found.push_back(
        {{key + ".min", key + ".max"},
         fmt::format("found min {} above max {}; min must not be above max", range.min, range.max)});
}

/// Checks that thieves do not steal a task straight back that was spilled to another package.
void check_spill(contradiction_list& found, const profile& p) {
  if (p.dispatch.policy != "nearest_lightest" || p.steal.policy == "none") return;
  const double spill = p.dispatch.weights.spill.cross_package;
  const std::uint32_t minimum = p.steal.minimum_at.cross_package;
  if (spill >= 2.0 * minimum) return;
  found.push_back(
      {{"dispatch.spill.cross_package", "steal.minimum_at.cross_package"},
       fmt::format("found spill.cross_package {} and steal.minimum_at.cross_package {}; spill must be at "
                   "least 2 × the minimum, or thieves steal a spilled task straight back",
                   spill, minimum)});
}

/// Checks that only its worker takes from an unbounded inbox, and that the inbox is unbounded where no
/// injection queue takes its overflow.
void check_queues(contradiction_list& found, const profile& p) {
  const bool unbounded = !p.queues.inbox;
  if (unbounded && p.steal.policy != "none")
    found.push_back({{"queues.inbox", "steal.policy"},
                     fmt::format("found an unbounded inbox and steal.policy {}; thieves cannot take from an "
                                 "unbounded inbox: name a size, or set steal.policy to none",
                                 p.steal.policy)});
  if (!unbounded && p.injection.scope == injection_scope::none)
    found.push_back(
        {{"injection.scope", "queues.inbox"},
         fmt::format("found injection.scope none and an inbox of {}; without an injection queue there is no "
                     "room for a task that finds an inbox full: set queues.inbox to unbounded",
                     *p.queues.inbox)});
}

void check_selection(contradiction_list& found, const machine_description::selection& use) {
  if (!use.cpus) return;
  if (use.cpus->empty())
    found.push_back(
        {{"topology.use.cpus"}, "found no CPU; name at least one, or leave the key out to use all"});
  else if (use.cpus->is_subset_of(use.reserve))
    found.push_back({{"topology.use.reserve", "topology.use.cpus"},
                     fmt::format("found {} reserved of the CPUs {}; leave at least one to use",
                                 use.reserve.to_string(), use.cpus->to_string())});
}

/// Checks that an engine looks at what is measured, and told, of the speed of its cores.
void check_speeds(contradiction_list& found, const profile& p) {
  if (follow_period_of(p)) return;
  if (p.topology.measure)
    found.push_back(
        {{"topology.follow", "topology.measure"},
         "found follow off; an engine corrects the capacities of cores when it looks at the host"});
  if (p.topology.hfi)
    found.push_back({{"topology.follow", "topology.hfi"},
                     "found follow off; an engine reads what the hardware says when it looks at the host"});
}

/// Checks that an engine that shares its machine looks for the others, and finds the file wherever it was started.
void check_sharing(contradiction_list& found, const profile& p) {
  const std::string& file = p.sharing.file;
  if (file.empty()) return;
  if (file.front() != '/')
    found.push_back({{"sharing.file"}, fmt::format("found {}; expected a path from / on", quote(file))});
  if (!follow_period_of(p))
    found.push_back(
        {{"topology.follow", "sharing.file"},
         "found follow off; an engine that shares its machine follows it, so that it notices when others "
         "come and go"});
  if (p.workers.pin == pin_to::none)
    found.push_back({{"workers.pin", "sharing.file"},
                     "found pin none; a share is CPUs, to which the threads of the engine are tied"});
}

/// Checks that names mean described kinds. Where kinds are described by hand, there are no others.
void check_kind_names(contradiction_list& found, const machine_description& machine) {
  for (const auto& [name, capacity] : machine.capacities)
    check_kind_name(found, "topology.capacity." + name, name, machine.kinds, "topology.");
  for (std::size_t i = 0; i < machine.use.kinds.size(); ++i)
    check_kind_name(found, fmt::format("topology.use.kinds[{}]", i), machine.use.kinds[i], machine.kinds,
                    "topology.");
}

void check_kinds(contradiction_list& found, const std::vector<kind_description>& kinds,
                 const std::string& prefix) {
  cpu_set before;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string key = fmt::format("{}[{}]", prefix, i);
    if (kinds[i].cpus.empty()) found.push_back({{key + ".cpus"}, "found no CPU; name at least one"});
    if (kinds[i].cpus.intersects(before))
      found.push_back({{key + ".cpus"},
                       fmt::format("found {} in another kind as well; a CPU belongs to one kind",
                                   (kinds[i].cpus & before).to_string())});
    before |= kinds[i].cpus;
    const auto first = std::ranges::find(kinds, kinds[i].name, &kind_description::name);
    if (first - kinds.begin() != static_cast<std::ptrdiff_t>(i))
      found.push_back(
          {{key + ".name"},
           fmt::format("found {} a second time; each kind has a name of its own", quote(kinds[i].name))});
  }
}

void check_distances(contradiction_list& found, const std::vector<std::vector<std::uint32_t>>& matrix,
                     const std::string& key) {
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    if (matrix[i].size() != matrix.size())
      found.push_back({{fmt::format("{}[{}]", key, i)},
                       fmt::format("found {} distances in one of {} rows; a row has a distance to each node",
                                   matrix[i].size(), matrix.size())});
    else if (matrix[i][i] != 10)
      found.push_back(
          {{fmt::format("{}[{}][{}]", key, i, i)},
           fmt::format("found {} from a node to itself; that distance is always 10", matrix[i][i])});
  }
}

} // namespace

std::vector<contradiction> find_contradictions(const std::vector<kind_description>& kinds,
                                               const std::vector<std::vector<std::uint32_t>>& distances,
                                               const std::string& prefix) {
  contradiction_list found;
  check_kinds(found, kinds, prefix + "kinds");
  check_distances(found, distances, prefix + "distances");
  return found;
}

void check_kind_name(contradiction_list& found, const std::string& key, const std::string& name,
                     const std::vector<kind_description>& kinds, const std::string& prefix) {
  if (kinds.empty() || std::ranges::find(kinds, name, &kind_description::name) != kinds.end()) return;
  std::vector<std::string> names;
  for (const kind_description& kind : kinds | std::views::take(compared_kinds)) names.push_back(kind.name);
  const auto shown = names | std::views::take(shown_kinds);
  const std::string more =
      kinds.size() > shown.size() ? fmt::format(", and {} more", kinds.size() - shown.size()) : "";
  // A list of issues shows no more than this; the rest is only counted.
  const std::string advice = found.size() < issue_list::most ? did_you_mean(name, names) : "";
  found.push_back({{key, prefix + "kinds"},
                   fmt::format("found {}; expected a kind that {}kinds describes ({}{}){}", quote(name),
                               prefix, fmt::join(shown, ", "), more, advice)});
}

std::vector<contradiction> find_contradictions(const profile& p) {
  contradiction_list found =
      find_contradictions(p.topology.machine.kinds, p.topology.machine.distances, "topology.");
  check_selection(found, p.topology.machine.use);
  check_kind_names(found, p.topology.machine);
  check_spill(found, p);
  check_queues(found, p);
  check_speeds(found, p);
  check_sharing(found, p);
  check_range(found, "injection.interval", p.injection.interval);
  check_range(found, "injection.batch", p.injection.batch);
  if (p.workers.total && (*p.workers.total == 0 || *p.workers.total > 65536))
    found.push_back(
        {{"workers.total"}, fmt::format("found {}; expected 1 to 65536 workers", *p.workers.total)});
  return found;
}

} // namespace corewise::detail
