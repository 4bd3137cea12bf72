#pragma once

#include <corewise/topology/cpu_set.hpp>

namespace corewise::detail {

/// The CPUs that an engine's workers are tied to. The other engines of the process can see the claim: two
/// engines on one CPU get in each other's way, and each should know.
class cpu_claim {
 public:
  /// Claims nothing.
  cpu_claim() = default;
  /// Claims `cpus`. Call from any thread. Takes a lock.
  explicit cpu_claim(cpu_set cpus);
  cpu_claim(cpu_claim&& other) noexcept;
  cpu_claim& operator=(cpu_claim&& other) noexcept;
  ~cpu_claim();

  /// Returns the claimed CPUs that other engines had claimed already.
  const cpu_set& overlap() const noexcept { return overlap_; }

 private:
  const void* key_ = nullptr;
  cpu_set overlap_;
};

} // namespace corewise::detail
