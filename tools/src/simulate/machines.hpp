#pragma once

#include <corewise/simulator/simulation.hpp>

#include <vector>

namespace corewise::command {

/// Discovers the machines that profiles ask for, each machine once.
class machine_finder {
 public:
  /// Returns the profile's machine. Throws `topology_error`, `profile_error`.
  std::shared_ptr<simulated_machine> find(const profile& p);

 private:
  struct found {
    machine_description description;
    std::shared_ptr<const topology> machine;
  };
  std::vector<found> found_;
};

} // namespace corewise::command
