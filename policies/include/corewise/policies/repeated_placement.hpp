#pragma once

#include <corewise/policies/policy.hpp>

namespace corewise {

/// The last answer of a policy to one thread outside. More tasks of that thread may follow it, as many as
/// `placement::repeat` says, if they have no wish and come from the same CPU, and while the worker is
/// available. The caller of a policy keeps one for each such thread; one thread at a time. The question is
/// asked for each task, so it is not a call of the policy (ADR 0040).
class repeated_placement {
 public:
  /// Notes an answer and the CPU that the thread was on; nothing: unknown.
  void note(const placement& to, std::optional<std::uint32_t> cpu) noexcept {
    to_ = to;
    cpu_ = cpu;
  }

  /// Returns whether the next task without a wish may follow the last one. If so, call `take`.
  bool holds(std::optional<std::uint32_t> cpu, const load_view& loads) const noexcept {
    return to_.repeat != 0 && cpu == cpu_ && available(loads);
  }

  /// Counts one task that follows. Returns where it goes.
  const placement& take() noexcept {
    --to_.repeat;
    return to_;
  }

 private:
  bool available(const load_view& loads) const noexcept {
    const worker_id first = loads.layout().of_group(to_.group).front().id;
    return !loads.board(to_.group).unavailable.test(to_.worker.value - first.value);
  }

  placement to_;
  std::optional<std::uint32_t> cpu_;
};

} // namespace corewise
