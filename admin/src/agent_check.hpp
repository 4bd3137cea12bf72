#pragma once

#include <corewise/engine/load.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace corewise::admin {

/// Returns the share of an engine's capacity that is free for new requests, above 0 and at most 1. A server
/// that is just full keeps a tenth of what is there: weights near 0 would multiply small differences between
/// servers that are all full.
double free_share(const load_report& load) noexcept;

/// Says what HAProxy's agent check reads. Source: `agent-check` in HAProxy 2.6's configuration.txt.
class agent_check {
 public:
  /// A change of the free share shows by 63% after this time. Slower than the balancer's answer to it, so that the
  /// two do not swing: a server that gets fewer requests has more free capacity.
  static constexpr std::chrono::seconds time_constant{3};

  /// Returns the line for a balancer: "ready up N%", or "drain" while the server drains or has ended.
  std::string line(const load_report& load, std::chrono::steady_clock::time_point now);

 private:
  double smooth_ = 1;
  std::optional<std::chrono::steady_clock::time_point> at_; // of the last line
};

} // namespace corewise::admin
