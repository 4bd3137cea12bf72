#pragma once

#include "spread.hpp"

#include <corewise/topology/cpu_set.hpp>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corewise::command {

/// A figure, or the reason why there is none.
struct finding {
  std::optional<spread> value;
  std::string how;     ///< "CPUs 0 and 1"; may be empty
  std::string why_not; ///< where there is no value
};

/// The loops by which the speed of cores is measured.
inline constexpr std::array<std::string_view, 3> kernel_names{"integer", "memory", "branchy"};

/// How fast the cores of a kind are.
struct kind_finding {
  std::string name;
  cpu_set cpus;
  std::array<finding, kernel_names.size()> kernels; ///< ns a step
  finding capacity; ///< 1024 is the fastest kind's; none where there is one kind
};

/// The host while it was measured.
struct host_facts {
  std::string date;                ///< "2026-01-31 12:00 UTC"
  std::string cpu_model;           ///< empty: unknown
  std::vector<std::string> doubts; ///< what may have disturbed the measuring; for people
};

/// All findings of `corewise calibrate`.
struct calibration {
  host_facts host;
  std::vector<kind_finding> kinds;                   ///< as the topology's
  std::map<std::string, finding, std::less<>> costs; ///< by the names of `cost_names()`
};

} // namespace corewise::command
