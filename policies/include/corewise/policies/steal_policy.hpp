#pragma once

#include <corewise/policies/function_ref.hpp>
#include <corewise/policies/policy.hpp>
#include <corewise/policies/steal_start.hpp>

namespace corewise {

/// How hard a thief looks.
enum class steal_effort : std::uint8_t {
  usual,    ///< a policy may leave work to workers that will do it sooner
  thorough, ///< nothing that waits is left out. Each worker's last round before it parks must be one
};

/// A place where a thief looks for work.
struct steal_stop {
  group_id group;
  corewise::level level = level::same_group; ///< between the thief's group and this one
  std::optional<worker_id> victim;           ///< nothing: the group's injection queue
};

/// Decides where an idle worker looks for work, and in which order. Pure like `policy`: the engine, the
/// simulator and tests run the same code. Any number of threads may call `visit` at once.
///
/// The caller decides what a stop yields: half of a queue, rounded up and bounded, and whether so little may
/// be taken from so far (`steal.minimum_at`). The caller also refuses loads that a thief may see but not take
/// (a LIFO slot that is too young).
///
/// To add one: CONTRIBUTING.md, "Add a policy".
class steal_policy {
 public:
  virtual ~steal_policy() = default;
  virtual std::string_view name() const noexcept = 0;
  /// Calls `try_steal` with one stop after another until it returns true. Returns whether it did.
  ///
  /// A stop is a worker for which the board shows waiting tasks (queued, or in the LIFO slot), also one in a
  /// blocking call, but never the thief itself. The injection queue of each group is a stop as well, but for
  /// the thief's own group: the thief has looked there already. At rest, with `thorough` effort, each stop is
  /// visited exactly once. Cost: two cache lines for each worker that is passed, beside what `try_steal`
  /// costs.
  virtual bool visit(const load_view& loads, worker_id thief, placement_rng& rng, steal_effort effort,
                     function_ref<bool(const steal_stop&)> try_steal) const noexcept = 0;
};

/// The policies that `steal.policy` can name.
std::vector<std::string_view> steal_policy_names();
/// Makes a steal policy for a machine; `groups` and `workers` must outlive it. Null for an unknown name.
std::unique_ptr<steal_policy> make_steal_policy(std::string_view name, const locality_groups& groups,
                                                const worker_layout& workers, steal_start start);

} // namespace corewise
