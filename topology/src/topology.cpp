#include <corewise/topology/error.hpp>
#include <corewise/topology/topology.hpp>

#include <fmt/format.h>

namespace corewise {
namespace {

constexpr std::uint32_t local_distance = 10;
constexpr std::uint32_t remote_distance = 20;

void require(bool holds, const char* what) {
  if (!holds) throw topology_error(fmt::format("the machine's facts contradict each other: {}", what));
}

void check_partition(const std::vector<const cpu_set*>& parts, const cpu_set& whole, const char* what) {
  cpu_set seen;
  for (const auto* part : parts) {
    require(!part->empty(), what);
    require(!seen.intersects(*part), what);
    seen |= *part;
  }
  require(seen == whole, what);
}

template <class Part> std::vector<const cpu_set*> cpus_of(const std::vector<Part>& parts) {
  std::vector<const cpu_set*> sets;
  sets.reserve(parts.size());
  for (const auto& part : parts) sets.push_back(&part.cpus);
  return sets;
}

bool in_range(std::optional<std::uint32_t> index, std::size_t size) { return !index || *index < size; }

void check_cores(const machine_facts& facts) {
  check_partition(cpus_of(facts.cores), facts.cpus, "the cores do not partition the CPUs");
  for (const auto& c : facts.cores) {
    require(in_range(c.package, facts.packages.size()), "a core's package is not in the list");
    require(in_range(c.node, facts.nodes.size()), "a core's NUMA node is not in the list");
    require(in_range(c.llc, facts.llcs.size()), "a core's last-level cache is not in the list");
    require(in_range(c.kind, facts.kinds.size()), "a core's kind is not in the list");
    require(c.cpus.is_subset_of(facts.kinds[c.kind].cpus), "a core kind cuts a core");
  }
}

void check_kinds(const std::vector<core_kind>& kinds, const cpu_set& cpus) {
  check_partition(cpus_of(kinds), cpus, "the core kinds do not partition the CPUs");
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    require(kinds[i].rank == i, "a core kind's rank is not its index");
    require(kinds[i].capacity >= 1 && kinds[i].capacity <= full_capacity, "a capacity is not in 1..1024");
    require(i == 0 || kinds[i - 1].capacity <= kinds[i].capacity, "the kinds are not sorted by capacity");
  }
  require(kinds.back().capacity == full_capacity, "the fastest kind's capacity is not 1024");
}

void check_nodes(const std::vector<numa_node>& nodes) {
  cpu_set homes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    require(i == 0 || nodes[i - 1].os_index < nodes[i].os_index, "the NUMA nodes are not in os_index order");
    require(!homes.intersects(nodes[i].home_cpus), "two NUMA nodes are home to one CPU");
    homes |= nodes[i].home_cpus;
  }
}

void check_distances(const node_distances& distances) {
  require(distances.matrix.size() == distances.nodes.size(), "the distance matrix does not fit its nodes");
  for (const auto& row : distances.matrix)
    require(row.size() == distances.nodes.size(), "the distance matrix is not square");
}

void check(const machine_facts& facts) {
  require(!facts.cpus.empty(), "there is no CPU");
  require(!facts.kinds.empty(), "there is no core kind");
  check_kinds(facts.kinds, facts.cpus);
  check_cores(facts);
  check_nodes(facts.nodes);
  if (facts.distances) check_distances(*facts.distances);
}

/// Returns the row of each of `nodes` in `distances`.
std::vector<std::optional<std::size_t>> rows_of(const std::vector<numa_node>& nodes,
                                                const node_distances& distances) {
  std::vector<std::optional<std::size_t>> rows(nodes.size());
  std::size_t row = 0; // both lists are ascending
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    while (row < distances.nodes.size() && distances.nodes[row] < nodes[i].os_index) ++row;
    if (row < distances.nodes.size() && distances.nodes[row] == nodes[i].os_index) rows[i] = row;
  }
  return rows;
}

std::vector<std::uint32_t> dense_distances(const machine_facts& facts) {
  const auto count = facts.nodes.size();
  std::vector<std::uint32_t> dense(count * count, remote_distance);
  for (std::size_t i = 0; i < count; ++i) dense[i * count + i] = local_distance;
  if (!facts.distances) return dense;
  const auto rows = rows_of(facts.nodes, *facts.distances);
  for (std::size_t from = 0; from < count; ++from)
    for (std::size_t to = 0; to < count; ++to)
      if (rows[from] && rows[to]) dense[from * count + to] = facts.distances->matrix[*rows[from]][*rows[to]];
  return dense;
}

} // namespace

topology::topology(machine_facts facts) : facts_(std::move(facts)) {
  check(facts_);
  distance_ = dense_distances(facts_);
}

std::uint32_t topology::distance(std::uint32_t from_node, std::uint32_t to_node) const noexcept {
  return distance_[from_node * facts_.nodes.size() + to_node];
}

} // namespace corewise
