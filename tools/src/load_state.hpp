#pragma once

#include "machine_options.hpp"

#include <corewise/policies/policy.hpp>

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace corewise::command {

/// A moment at which a task is to be placed.
struct load_state {
  struct from {
    std::optional<worker_id> worker;
    std::optional<std::uint32_t> cpu; ///< neither: from outside, at a domain that the seed draws
  } origin;
  placement_hint hint;
  std::map<worker_id, std::uint32_t> load; ///< workers without an entry have no load and are parked
  std::vector<worker_id> blocking;
  std::uint64_t task_time_ns = 50'000;
  std::uint64_t seed = 1;
};

/// An error in a state; the text has a line for each thing that is wrong with it.
class state_error : public std::runtime_error {
 public:
  explicit state_error(std::vector<std::string> problems);
  const std::vector<std::string>& problems() const noexcept { return problems_; }

 private:
  std::vector<std::string> problems_;
};

/// Reads a state from JSON and checks it against the machine. A key whose value is null counts as absent.
/// Throws `state_error`.
load_state parse_state(std::string_view text, const divided_machine& m);

} // namespace corewise::command
