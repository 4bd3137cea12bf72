#include <corewise/policies/policy.hpp>

namespace corewise {

std::string_view to_string(placement_reason reason) noexcept {
  switch (reason) {
  case placement_reason::own_queue: return "own_queue";
  case placement_reason::idle_nearby: return "idle_nearby";
  case placement_reason::least_cost: return "least_cost";
  case placement_reason::own_core: return "own_core";
  case placement_reason::fewest_queued: return "fewest_queued";
  case placement_reason::lighter_of_two: return "lighter_of_two";
  case placement_reason::least_active: return "least_active";
  case placement_reason::kept_local: return "kept_local";
  case placement_reason::injected: return "injected";
  case placement_reason::next_in_turn: return "next_in_turn";
  case placement_reason::drawn: return "drawn";
  case placement_reason::hinted: break;
  }
  return "hinted";
}

} // namespace corewise
