#include "agent_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace corewise::admin {

namespace {
constexpr double least = .001;
}

double free_share(const load_report& load) noexcept {
  if (load.state == health_state::wedged) return least;
  const double there = load.capacity > 0 ? load.effective_capacity / load.capacity : 0;
  const double used = std::max(load.utilization, 0.0);
  return std::clamp(there * (used <= 1 ? 1 - .9 * used : .1 / used), least, 1.0);
}

std::string agent_check::line(const load_report& load, std::chrono::steady_clock::time_point now) {
  if (load.draining || load.state == health_state::ended) return "drain\n";
  const double share = free_share(load);
  const std::chrono::duration<double> passed = at_ ? now - *at_ : std::chrono::hours{1};
  smooth_ += (share - smooth_) * (1 - std::exp(-passed / std::chrono::duration<double>(time_constant)));
  at_ = now;
  return fmt::format("ready up {}%\n", std::clamp(std::lround(100 * smooth_), 1L, 100L));
}

} // namespace corewise::admin
