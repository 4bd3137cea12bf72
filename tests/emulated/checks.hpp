#pragma once

#include "expectation.hpp"
#include "verdict.hpp"

#include <corewise/engine/profile.hpp>

#include <string>

namespace corewise::emulated {

/// Checks that discovery finds the machine as it was configured.
void check_discovery(const expectation& facts, verdict& v);
/// Checks that workers sit where the profile says: their threads' CPUs, as /proc tells them, their names, and
/// the CPUs that tasks run on.
void check_pinning(const profile& p, const std::string& title, verdict& v);
/// Checks that the memory that a worker touches, or that the engine keeps for it, lies on the worker's node.
void check_memory(const profile& p, verdict& v);
/// Checks that the objects that are made for a group, and each group's share of an array that a loop wrote,
/// lie on the group's node.
void check_data(profile p, verdict& v);

} // namespace corewise::emulated
