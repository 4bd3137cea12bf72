#pragma once

#include <corewise/policies/load_view.hpp>
#include <corewise/policies/task_class.hpp>
#include <corewise/topology/workers.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace corewise {

/// How a worker's load becomes a score, in tasks of the fastest kind. No score always wins (design.md, D3b),
/// so it is a setting.
enum class score_kind : std::uint8_t {
  expected_delay, ///< (load + 1) × 1024 / capacity: when would this task be done?
  drain_time,     ///< load × 1024 / capacity: when would this task begin?
  count,          ///< load
};

/// The cost of sending a task away, by level, in tasks of the fastest kind.
struct spill_costs {
  double same_domain = 2;
  double same_node = 4;
  double same_package = 6;
  double cross_package = 16;
};

struct dispatch_weights {
  score_kind score = score_kind::expected_delay;
  spill_costs spill;
  /// A worker keeps what it submits while its tasks take less than this: looking at other workers and moving
  /// a task to one of them would take longer, and thieves even the loads out. 0 where workers do not steal.
  std::uint64_t keep_below_ns = 1000;
};

/// The task time at and below which `spill` holds in full; longer tasks are sent away more easily.
inline constexpr std::uint64_t spill_task_time_ns = 50'000;

/// Where a task comes from.
struct task_origin {
  group_id group; ///< the submitting worker's group, or any group of the home domain for a task from outside
  std::optional<worker_id> worker; ///< nothing: from outside
};

/// What the submitter wishes. Workers that fulfil all of it are preferred to all others; when no worker does,
/// or none that is available, the hint is as good as absent. Policies know neither addresses nor classes nor
/// deadlines: the engine turns an address into a node; for a task with a class only the domain of the
/// policy's answer counts; a deadline changes nothing about the place.
struct placement_hint {
  std::optional<group_id> group = {};
  std::optional<std::uint32_t> package = {}; ///< index into `topology::packages()`
  std::optional<std::uint32_t> node = {};    ///< index into `topology::nodes()`
  std::optional<worker_id> worker = {};
  std::optional<std::uint32_t> kind = {}; ///< index into `topology::kinds()`
  /// An address whose memory node is wanted, unless `node` says which. Null, not mapped, not touched yet, or
  /// on a machine with one node: no wish. On a node without workers: the nearest with workers, by SLIT
  /// distance.
  const void* address = nullptr;
  task_class run_as = task_class::normal;
  /// The engine drops the task when its turn comes, if it has not begun by then.
  std::chrono::steady_clock::time_point deadline = no_deadline;

  static constexpr auto no_deadline = std::chrono::steady_clock::time_point::max();

  /// Returns whether the hint names no place.
  bool empty() const noexcept { return !group && !package && !node && !worker && !kind; }
  /// Returns whether the hint wishes nothing of where and as what the task runs.
  bool plain() const noexcept { return empty() && address == nullptr && run_as == task_class::normal; }
};

/// xorshift64*, one per submitting thread. Source: Vigna, "An experimental exploration of Marsaglia's
/// xorshift generators, scrambled", doi:10.1145/2845077.
class placement_rng {
 public:
  explicit placement_rng(std::uint64_t seed) noexcept : state_(seed * 2 + 1) {}
  std::uint64_t next() noexcept {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1DULL;
  }
  /// A number below `bound`, which is not 0 (multiply-shift: nearly, not exactly, unbiased).
  std::uint32_t below(std::uint32_t bound) noexcept {
    return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
  }

 private:
  std::uint64_t state_;
};

/// The state that a policy must keep between two decisions of one submitting thread.
struct placement_cursor {
  std::uint32_t position = 0; ///< of the rotation over all workers
  std::uint32_t among_hinted =
      0; ///< of the rotation over those that hints allow, so that neither disturbs the other
};

/// Why a worker was chosen; the `reason` of `explain`.
enum class placement_reason : std::uint8_t {
  own_queue,      ///< the submitting worker itself is the cheapest
  idle_nearby,    ///< an idle worker of the domain's fastest kind: nothing can be cheaper
  least_cost,     ///< the least cost of all groups
  hinted,         ///< the policy's choice among the workers that the hint allows
  fewest_queued,  ///< no worker has fewer tasks queued
  lighter_of_two, ///< of two workers drawn at random the one with less to do
  least_active,   ///< no worker has been less active of late
  kept_local,     ///< a worker keeps what it submits, whatever its load
  injected,       ///< the injection queue, from which the first free worker takes it
  next_in_turn,   ///< the rotation has come to it
  drawn,          ///< at random
};
std::string_view to_string(placement_reason reason) noexcept;

struct placement {
  worker_id worker;
  group_id group;
  corewise::level level =
      level::same_group; ///< for a task from outside the whole home domain is `same_group`
  double score = 0;      ///< what the policy compares, in its `score_unit`; 0 where it compares nothing
  double cost = 0;       ///< score + penalty
  placement_reason reason = placement_reason::least_cost;
  /// The task goes to the injection queue of `group`, not to a worker; `worker`, which is of that group, is
  /// the one to wake first. Where there are no injection queues, that worker gets the task.
  bool injected = false;
  /// How many more tasks from the same place may go to the same worker unasked: while tasks are that short,
  /// asking takes longer than a better answer would gain.
  std::uint32_t repeat = 0;
};

/// One offer that the policy weighed.
struct considered {
  group_id group;
  worker_id lightest; ///< the group's best by what the policy compares, or the one worker that was looked at
  double score = 0;
  double penalty = 0;
};

/// Decides where a task goes. Pure: it owns nothing mutable and knows no thread and no clock, so the
/// simulator and `explain` run the very code that the engine runs. Any number of threads may call `place` at
/// once.
///
/// To add one: a file in policies/builtin/ and its line in policies/src/registry.cpp.
class policy {
 public:
  virtual ~policy() = default;
  virtual std::string_view name() const noexcept = 0;
  /// Chooses among the available workers. When no worker at all is available (every one is in a blocking
  /// call) it chooses as if all were. Cost: stated by each policy.
  virtual placement place(const load_view& loads, const task_origin& origin, const placement_hint& hint,
                          placement_rng& rng, placement_cursor& cursor) const noexcept = 0;
  /// The greatest load, including the running task, at which the worker `origin` keeps what it submits
  /// without a hint, whatever the loads of the others. Returns nothing if it must ask. Reads no board. Any
  /// thread.
  virtual std::optional<std::uint32_t> keeps_up_to(const load_view& /*loads*/,
                                                   const task_origin& /*origin*/) const noexcept {
    return std::nullopt;
  }
  /// Returns whether a suspended task goes on where it ran last; else it is injected as well.
  virtual bool returns() const noexcept { return true; }
  /// The unit of the scores; empty when the policy compares nothing.
  virtual std::string_view score_unit() const noexcept = 0;
  /// The offers that `place` weighs when it is asked the same with the same random state and cursor: for
  /// `explain`. Any thread.
  virtual std::vector<considered> consider(const load_view& loads, const task_origin& origin,
                                           const placement_hint& hint, placement_rng rng,
                                           placement_cursor cursor) const = 0;
};

/// The policies that `dispatch.policy` can name.
std::vector<std::string_view> policy_names();
/// Makes a policy for a machine; `groups` and `workers` must outlive it. Null for an unknown name.
std::unique_ptr<policy> make_policy(std::string_view name, const locality_groups& groups,
                                    const worker_layout& workers, const dispatch_weights& weights);

} // namespace corewise
