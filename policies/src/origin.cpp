#include <corewise/policies/origin.hpp>

namespace corewise {

std::optional<task_origin> origin_from_cpu(const locality_groups& groups, std::uint32_t cpu) noexcept {
  const std::optional<group_id> home = groups.group_of_cpu(cpu);
  if (!home) return std::nullopt;
  return task_origin{*home, std::nullopt};
}

task_origin origin_at_random(const worker_layout& workers, placement_rng& rng) noexcept {
  const worker_id drawn{rng.below(static_cast<std::uint32_t>(workers.size()))};
  return {workers[drawn].group, std::nullopt};
}

task_origin origin_from_worker(const worker_layout& workers, worker_id worker) noexcept {
  return {workers[worker].group, worker};
}

} // namespace corewise
