#pragma once

#include "calibration.hpp"

#include <corewise/topology/topology.hpp>

#include <chrono>
#include <functional>
#include <string_view>

namespace corewise::command {

/// Called with the name of the next measurement, and how much of the time is over (0..1).
using progress_hook = std::function<void(std::string_view what, double over)>;

/// Measures the machine at hand for so long. Throws `std::system_error` where no thread can be started,
/// `topology_error`.
calibration calibrate(const topology& machine, std::chrono::nanoseconds budget,
                      const progress_hook& progress);

} // namespace corewise::command
