#pragma once

#include "progress.hpp"

#include <corewise/engine/engine.hpp>

#include <chrono>
#include <string>

namespace corewise::command {

/// Writes the amount of work, its speed, and where the tasks ran, by group and worker, for people.
std::string report_of(const engine& e, const digest_count& count, std::chrono::duration<double> took);

} // namespace corewise::command
