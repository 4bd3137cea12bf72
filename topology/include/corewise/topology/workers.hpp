#pragma once

#include <corewise/topology/groups.hpp>
#include <corewise/topology/host_allowance.hpp>

namespace corewise {

/// How many hardware threads of a core get a worker.
enum class smt_use : std::uint8_t { one_per_core, all };

struct worker_options {
  smt_use smt = smt_use::one_per_core;
  /// Workers in each group, dealt round-robin over its cores; may exceed them. Nothing: one per core or CPU.
  std::optional<std::uint32_t> per_group;
  /// Workers in all, dealt over the groups in proportion to capacity × cores (largest remainders; equal ones
  /// to the lower group); wins over `per_group` and over the host's quota.
  std::optional<std::uint32_t> total;
  /// The CPU that the constructing thread runs on: where a quota's workers are taken from first.
  std::optional<std::uint32_t> start_cpu;
  /// How many seats there are beyond the workers at the start; 0: none. Nothing: where a quota gives fewer workers than
  /// cores, three for each, at most one on each core or CPU; else none. A number from 1 on gives no fewer.
  std::optional<std::uint32_t> headroom = 0;
  /// Which part of the host's quota these workers may use, above 0 and at most 1: another engine of the process may have
  /// the rest.
  double quota_part = 1;
};

/// Returns how many workers the options give each group, on what the host allows of the machine. A number that is
/// given stays, but a group without an allowed CPU gets none. Where none of the machine's CPUs is allowed, all are
/// taken for allowed. Throws `topology_error` when `total` or `per_group` is 0, or when more than
/// `worker_layout::largest` workers would result.
std::vector<std::uint32_t> worker_counts(const topology& machine, const locality_groups& groups,
                                         const worker_options& options, const host_allowance& allowed);

/// One worker's place.
struct worker_place {
  worker_id id;
  group_id group;
  std::uint32_t core = 0; ///< index into `topology::cores()`
  std::uint32_t cpu = 0;  ///< the CPU of that core for `pin: core`
};

/// Which workers there are and where they are: by groups, and by cores inside a group. Immutable: any thread
/// may read it.
///
/// The layout deals a group's workers over the cores, one each; where workers share cores, over the cores'
/// CPUs in turn. Automatic numbers obey the host: no more workers than ⌈quota⌉ CPUs, taken from the fewest
/// domains, the domain of `start_cpu` first, fastest kind first. A group may be left without workers. Behind a group's
/// workers come the seats of its headroom.
class worker_layout {
 public:
  static constexpr std::uint32_t largest = 65536;

  /// Throws as `worker_counts`.
  worker_layout(const topology& machine, const locality_groups& groups, const worker_options& options);

  const std::vector<worker_place>& workers() const noexcept { return workers_; }
  std::size_t size() const noexcept { return workers_.size(); }
  const worker_place& operator[](worker_id w) const noexcept { return workers_[w.value]; }

  /// The first worker whose place is that CPU, or else its core. Returns nothing where there is none.
  std::optional<worker_id> at_cpu(std::uint32_t cpu) const noexcept {
    return cpu < at_cpu_.size() ? at_cpu_[cpu] : std::nullopt;
  }

  /// Returns how many of the group's workers, from the first on, take part from the start.
  std::uint32_t at_begin(group_id g) const noexcept { return at_begin_[g.value]; }
  /// Returns the same of all groups.
  std::uint32_t at_begin() const noexcept { return all_at_begin_; }

  /// The workers of a group have consecutive ids.
  std::span<const worker_place> of_group(group_id g) const noexcept {
    return {workers_.data() + first_[g.value], first_[g.value + 1] - first_[g.value]};
  }

 private:
  std::vector<worker_place> workers_;
  std::vector<std::size_t> first_; // groups + 1
  std::vector<std::uint32_t> at_begin_;
  std::uint32_t all_at_begin_ = 0;
  std::vector<std::optional<worker_id>> at_cpu_;
};

} // namespace corewise
