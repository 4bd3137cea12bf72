#pragma once

#include <corewise/policies/dispatch_weights.hpp>
#include <corewise/policies/load_view.hpp>
#include <corewise/policies/placement_hint.hpp>
#include <corewise/topology/workers.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace corewise {

/// Where a task comes from.
struct task_origin {
  group_id group; ///< the submitting worker's group, or any group of the home domain for a task from outside
  std::optional<worker_id> worker; ///< nothing: from outside
  /// The CPU of a thread outside, if it is one of the home domain. Nothing: unknown, or the home was drawn.
  std::optional<std::uint32_t> cpu = {};
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

/// The state that a policy may keep between two decisions of one submitting thread: the policy in force reads
/// and writes it as it likes. It begins at 0, and after a reload it is as the policy before has left it.
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
  own_core,       ///< the worker of the submitter's core, which counts as equal to the cheapest
  hinted,         ///< the policy's choice among the workers that the hint allows
  fewest_queued,  ///< no worker has fewer tasks queued
  lighter_of_two, ///< of two workers drawn at random the one with less to do
  least_active,   ///< no worker has been less active of late
  kept_local,     ///< a worker keeps what it submits, whatever its load
  injected,       ///< the injection queue, from which the first free worker takes it
  next_in_turn,   ///< the rotation has come to it
  drawn,          ///< at random. The last one: tests count reasons up to it
};
std::string_view to_string(placement_reason reason) noexcept;

struct placement {
  worker_id worker;
  group_id group;
  corewise::level level =
      level::same_group; ///< for a task from outside the whole home domain is `same_group`
  /// The figure that the policy compares, in its `score_unit`; 0 where it compares nothing. With the reason `own_core`
  /// the score of the least load that the worker's level stands for.
  double score = 0;
  double cost = 0; ///< score + penalty
  placement_reason reason = placement_reason::least_cost;
  /// The task goes to the injection queue of `group`, not to a worker; `worker`, which is of that group, is
  /// the one to wake first. Where there are no injection queues, that worker gets the task.
  bool injected = false;
  /// How many more tasks from the same place may go to the same worker unasked: while tasks are that short,
  /// asking takes longer than a better answer would gain. The asker goes by `repeated_placement`.
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
/// To add one: CONTRIBUTING.md, "Add a policy".
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
  virtual std::optional<std::uint32_t> max_load_kept_unasked(const load_view& /*loads*/,
                                                             const task_origin& /*origin*/) const noexcept {
    return std::nullopt;
  }
  /// Returns whether a suspended task goes on where it ran last; else it is injected as well.
  virtual bool returns() const noexcept { return true; }
  /// The unit of the scores; empty when the policy compares nothing.
  virtual std::string_view score_unit() const noexcept { return ""; }
  /// The offers that `place` weighs when it is asked the same with the same random state and cursor: for
  /// `explain`. A policy that compares nothing weighs one, its answer. Any thread.
  virtual std::vector<considered> consider(const load_view& loads, const task_origin& origin,
                                           const placement_hint& hint, placement_rng rng,
                                           placement_cursor cursor) const;
};

/// The policies that `dispatch.policy` can name.
std::vector<std::string_view> policy_names();
/// Makes a policy for a machine; `groups` and `workers` must outlive it. Null for an unknown name.
std::unique_ptr<policy> make_policy(std::string_view name, const locality_groups& groups,
                                    const worker_layout& workers, const dispatch_weights& weights);

} // namespace corewise
