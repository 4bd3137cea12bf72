#include <corewise/policies/policy.hpp>

namespace corewise {

std::string_view to_string(placement_reason reason) noexcept {
  switch (reason) {
  case placement_reason::own_queue: return "own_queue";
  case placement_reason::idle_nearby: return "idle_nearby";
  case placement_reason::least_cost: return "least_cost";
  case placement_reason::hinted: break;
  }
  return "hinted";
}

} // namespace corewise
