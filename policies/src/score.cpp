#include <corewise/policies/score.hpp>

namespace corewise {

double score_of(score_kind kind, std::uint32_t load, std::uint32_t capacity) noexcept {
  switch (kind) {
  case score_kind::expected_delay: return (load + 1.0) * full_capacity / capacity;
  case score_kind::drain_time: return static_cast<double>(load) * full_capacity / capacity;
  case score_kind::count: break;
  }
  return load;
}

std::array<double, level_count> level_penalties(const spill_costs& spill,
                                                std::uint64_t task_time_ns) noexcept {
  const double scale = task_time_ns <= spill_task_time_ns
                           ? 1.0
                           : static_cast<double>(spill_task_time_ns) / static_cast<double>(task_time_ns);
  return {0.0, spill.same_domain * scale, spill.same_node * scale, spill.same_package * scale,
          spill.cross_package * scale};
}

} // namespace corewise
