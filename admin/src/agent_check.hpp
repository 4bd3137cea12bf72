#pragma once

#include <corewise/engine/load.hpp>

#include <chrono>
#include <string>

namespace corewise::admin {

/// Says what HAProxy's agent check reads. Source: `agent-check` in HAProxy 2.6's configuration.txt.
class agent_check {
 public:
  /// Returns the line for a balancer: "ready up N%", or "drain" while the server drains or has ended.
  std::string line(const load_report& load, std::chrono::steady_clock::time_point now);

 private:
  smooth_free_share share_;
};

} // namespace corewise::admin
