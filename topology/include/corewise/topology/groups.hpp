#pragma once

#include <corewise/topology/ids.hpp>
#include <corewise/topology/topology.hpp>

#include <span>

namespace corewise {

/// The extent of a locality domain, always within one home node and one package. `llc`: the cores that share a
/// last-level cache. Cores that have a last-level cache each to themselves, as on most virtual machines, form
/// one domain together.
enum class domain_kind : std::uint8_t { core, llc, numa, package, machine };

/// Between two groups, the smallest thing that holds both.
enum class level : std::uint8_t {
  same_group = 0,
  same_domain = 1, ///< another kind or another cut of one domain
  same_node = 2,
  same_package = 3,
  cross_package = 4,
};
inline constexpr std::size_t level_count = 5;

struct grouping_options {
  domain_kind group_by = domain_kind::llc;
  std::uint32_t group_max = 16; ///< cores per group at most; 0: uncut
};

/// The cores of one kind in one domain, or an even cut of them: the unit of placing, waking and stealing.
struct locality_group {
  group_id id;
  cpu_set cpus;                     ///< all hardware threads of `cores`
  std::vector<std::uint32_t> cores; ///< indices into `topology::cores()`, in logical order
  std::uint32_t kind = 0;           ///< index into `topology::kinds()`
  std::uint32_t capacity = full_capacity;
  std::uint32_t domain = 0;             ///< dense domain number
  std::optional<std::uint32_t> package; ///< index into `topology::packages()`
  std::optional<std::uint32_t> node;    ///< index into `topology::nodes()`
  std::optional<std::uint32_t> llc_level;
  std::vector<group_id> steal_order; ///< own group first, then outward: level, SLIT distance, next in number
};

/// The locality groups of a machine. They partition its CPUs exactly. Numbered by the lowest CPU of their
/// domain, kinds inside a domain fastest first. Immutable: any thread may read it.
///
/// Source of the idea that 8 to 16 cores are enough for one queue: HAProxy's thread groups, Linux' LLC
/// domains.
class locality_groups {
 public:
  /// More groups than this are refused: the tables between groups grow with the square of their number.
  static constexpr std::size_t largest = 8192;

  /// Cost: 10 ms for a thousand groups. Throws `topology_error` for more than `largest` groups.
  locality_groups(const topology& machine, const grouping_options& options);

  const std::vector<locality_group>& groups() const noexcept { return groups_; }
  const locality_group& operator[](group_id g) const noexcept { return groups_[g.value]; }
  std::size_t size() const noexcept { return groups_.size(); }

  /// Returns the same groups, each with a part of its capacity, in percent: one for each group, above 0.
  locality_groups at_speeds(std::span<const std::uint32_t> percent) const;

  /// The groups of each domain, by domain number; ascending, so fastest kind first.
  const std::vector<std::vector<group_id>>& domains() const noexcept { return domains_; }

  level level_between(group_id a, group_id b) const noexcept {
    return levels_[a.value * groups_.size() + b.value];
  }
  /// SLIT distance from a's node to b's; as `topology::distance`. Returns 10 where either group has no node.
  /// O(1).
  std::uint32_t distance(group_id a, group_id b) const noexcept {
    return distances_[a.value * groups_.size() + b.value];
  }
  /// The group of a CPU. Returns nothing for a CPU that is not used. O(1).
  std::optional<group_id> group_of_cpu(std::uint32_t cpu) const noexcept {
    return cpu < group_of_cpu_.size() ? group_of_cpu_[cpu] : std::nullopt;
  }

 private:
  std::vector<locality_group> groups_;
  std::vector<std::vector<group_id>> domains_;
  std::vector<level> levels_;            // groups × groups
  std::vector<std::uint32_t> distances_; // groups × groups, row: from
  std::vector<std::optional<group_id>> group_of_cpu_;
};

} // namespace corewise
