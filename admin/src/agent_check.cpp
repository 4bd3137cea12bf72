#include "agent_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace corewise::admin {

std::string agent_check::line(const load_report& load, std::chrono::steady_clock::time_point now) {
  if (load.draining || load.state == health_state::ended) return "drain\n";
  return fmt::format("ready up {}%\n", std::clamp(std::lround(100 * share_.add(load, now)), 1L, 100L));
}

} // namespace corewise::admin
