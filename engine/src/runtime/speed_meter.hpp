#pragma once

#include "books/like_tasks.hpp"

#include <corewise/policies/measured_speeds.hpp>

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace corewise::detail {

class shared;

/// Measures the speeds of an engine's groups by the tasks that its workers have run (`topology.measure`). Call from one
/// thread at a time.
class speed_meter {
 public:
  explicit speed_meter(const locality_groups& groups) : speeds_(groups) {}

  /// Learns from what the workers have noted. `allowed`: `host_allowance::speeds`. Throws `std::bad_alloc`.
  void look(shared& engine, std::span<const std::uint32_t> allowed);
  /// Returns the speed of each group, in percent: what the host allows of what was measured.
  std::vector<std::uint32_t> of(std::span<const std::uint32_t> allowed) const;
  std::span<const std::uint32_t> measured() const noexcept { return speeds_.percent(); }

 private:
  measured_speeds speeds_;
  std::unordered_map<std::uintptr_t, std::size_t> numbers_; // of the kinds of tasks
};

} // namespace corewise::detail
