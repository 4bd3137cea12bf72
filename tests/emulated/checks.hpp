#pragma once

#include "expectation.hpp"

#include <corewise/engine/profile.hpp>

#include <string>

namespace corewise::emulated {

/// Counts what was compared, and says what differs on standard output.
class verdict {
 public:
  void same(const std::string& what, const std::string& is, const std::string& should_be);

  int passed() const noexcept { return passed_; }
  int failed() const noexcept { return failed_; }

 private:
  int passed_ = 0;
  int failed_ = 0;
};

/// Discovery finds what the machine was configured as.
void check_discovery(const expectation& facts, verdict& v);
/// Workers sit where the profile says: their threads' CPUs, as /proc tells them, names, and the CPUs tasks
/// run on.
void check_pinning(const profile& p, const std::string& title, verdict& v);
/// What a worker touches and what the engine keeps for it lies on the worker's node.
void check_memory(const profile& p, verdict& v);
/// What is made for a group, and each group's share of an array that a loop wrote, lies on the group's node.
void check_data(profile p, verdict& v);

} // namespace corewise::emulated
