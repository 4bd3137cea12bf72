#pragma once

#include <corewise/simulator/fleet.hpp>
#include <corewise/simulator/random_stream.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace corewise::detail {

/// The answer of a server to a probe.
struct server_state {
  std::uint32_t in_flight = 0;
  std::int64_t latency_ns = 0; ///< of requests that found about as many in flight
};

/// The servers, as a balancer may ask them.
class asked_servers {
 public:
  asked_servers() = default;
  asked_servers(const asked_servers&) = delete;
  asked_servers& operator=(const asked_servers&) = delete;
  virtual ~asked_servers() = default;
  /// Asks by a probe. Cost: the server sorts latencies.
  virtual server_state ask(std::uint32_t server) const = 0;
  /// Returns the weight of which the server's agent check has told.
  virtual std::uint32_t weight(std::uint32_t server) const = 0;
};

/// One balancer. It hears of the beginning and the end of its own requests.
class balancer {
 public:
  balancer(std::uint32_t servers, random_stream random) : own_(servers, 0), random_(random) {}
  balancer(const balancer&) = delete;
  balancer& operator=(const balancer&) = delete;
  virtual ~balancer() = default;

  /// Returns the server for a request that comes now.
  virtual std::uint32_t choose(std::int64_t now_ns, const asked_servers& servers) = 0;
  void begun(std::uint32_t server) { ++own_[server]; }
  void ended(std::uint32_t server) { --own_[server]; }

 protected:
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(own_.size()); }
  std::uint32_t own(std::uint32_t server) const noexcept { return own_[server]; }
  random_stream& random() noexcept { return random_; }

 private:
  std::vector<std::uint32_t> own_; // requests in flight, by server
  random_stream random_;
};

std::unique_ptr<balancer> make_balancer(balancing_rule rule, std::uint32_t servers, random_stream random);

} // namespace corewise::detail
