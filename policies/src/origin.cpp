#include <corewise/policies/origin.hpp>

namespace corewise {

task_origin origin_at_random(const worker_layout& workers, placement_rng& rng) noexcept {
  const worker_id drawn{rng.below(static_cast<std::uint32_t>(workers.size()))};
  return {workers[drawn].group, std::nullopt, std::nullopt};
}

task_origin origin_from_worker(const worker_layout& workers, worker_id worker) noexcept {
  return {workers[worker].group, worker, std::nullopt};
}

} // namespace corewise
