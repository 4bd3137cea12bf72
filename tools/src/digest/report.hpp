#pragma once

#include "progress.hpp"

#include <corewise/engine/engine.hpp>

#include <chrono>
#include <string>

namespace corewise::command {

/// What was done, how fast, and where the tasks ran: by group and worker, for people.
std::string report_of(const engine& e, const digest_count& count, std::chrono::duration<double> took);

} // namespace corewise::command
