#pragma once

#include <corewise/policies/measured_speeds.hpp>
#include <corewise/policies/policy.hpp>
#include <corewise/policies/steal_policy.hpp>
#include <corewise/simulator/random_stream.hpp>
#include <corewise/simulator/simulation.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace corewise::detail {

/// The policies of a profile. With `topology.measure` they go by the speeds of the cores as the engine would measure
/// them: of one task in 64 that ends, as often as `topology.follow` says.
class followed_policies {
 public:
  /// `rule`: decides in the place of the profile's policy; may be null. All arguments must outlive this.
  followed_policies(const profile& p, const simulated_machine& machine, const policy* rule,
                    random_stream samples);

  const policy& placing() const noexcept { return rule_ != nullptr ? *rule_ : *placing_; }
  const steal_policy& stealing() const noexcept { return *stealing_; }

  /// Notes that a task has run for that long.
  void ran(group_id g, std::int64_t ns, std::int64_t now_ns) {
    if (meter_) note(g, ns, now_ns);
  }

 private:
  struct meter {
    measured_speeds speeds;
    random_stream samples;
    std::vector<log_times> times; // by group
    std::int64_t period_ns;
    std::int64_t next_look_ns;
    std::uint32_t until_sample = 1;
  };

  void note(group_id g, std::int64_t ns, std::int64_t now_ns);
  void make();

  const profile& profile_;
  const simulated_machine& machine_;
  const policy* rule_;
  std::optional<meter> meter_;
  std::vector<std::uint32_t> in_force_;           // percent, by group
  std::unique_ptr<const locality_groups> slowed_; // as the policies see them; null: as the machine says
  std::unique_ptr<policy> placing_;
  std::unique_ptr<steal_policy> stealing_;
};

} // namespace corewise::detail
