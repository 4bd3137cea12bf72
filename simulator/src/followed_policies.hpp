#pragma once

#include "run_setup.hpp"

#include <corewise/policies/measured_speeds.hpp>
#include <corewise/policies/policy.hpp>
#include <corewise/policies/steal_policy.hpp>
#include <corewise/simulator/random_stream.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace corewise::detail {

/// The random state and the rotation of the policies' decisions for one worker.
struct worker_draws {
  placement_rng rng{0};
  placement_cursor cursor;
};

/// The policies of a profile. With `topology.measure` they go by the speeds of the cores as the engine would
/// measure them: of one task in 64 that ends, as often as `topology.follow` says.
class followed_policies {
 public:
  /// `setup` must outlive this.
  explicit followed_policies(const run_setup& setup);

  const policy& placing() const noexcept {
    return setup_.options.rule != nullptr ? *setup_.options.rule : *placing_;
  }
  const steal_policy& stealing() const noexcept { return *stealing_; }
  worker_draws& of(worker_id w) noexcept { return draws_[w.value]; }

  bool measures() const noexcept { return meter_.has_value(); }
  /// Notes that a task has run for that long. Call it only where the policies measure.
  void ran(group_id g, std::int64_t ns, std::int64_t now_ns);

 private:
  struct meter {
    measured_speeds speeds;
    random_stream samples;
    std::vector<log_times> times; // by group
    std::int64_t period_ns;
    std::int64_t next_look_ns;
    std::uint32_t until_sample = 1;
  };

  void make();

  const run_setup& setup_;
  std::vector<worker_draws> draws_; // by worker
  std::optional<meter> meter_;
  std::vector<std::uint32_t> in_force_;           // percent, by group
  std::unique_ptr<const locality_groups> slowed_; // as the policies see them; null: as the machine says
  std::unique_ptr<policy> placing_;
  std::unique_ptr<steal_policy> stealing_;
};

} // namespace corewise::detail
