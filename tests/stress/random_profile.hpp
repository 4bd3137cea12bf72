#pragma once

#include <corewise/engine/profile.hpp>
#include <corewise/policies/policy.hpp>

#include <string>
#include <vector>

// Random profiles for random_sequences.

namespace corewise::tests {

inline bool one_in(placement_rng& rng, std::uint32_t n) { return rng.below(n) == 0; }

template <class T> T any_of(placement_rng& rng, const std::vector<T>& from) {
  return from[rng.below(static_cast<std::uint32_t>(from.size()))];
}

/// Sets the settings that may change while an engine runs, at random.
void set_any_rules(profile& p, placement_rng& rng, bool others_run_children);

profile any_profile(placement_rng& rng, bool never_times_out);

/// Returns the settings that matter most, in a line.
std::string to_text(const profile& p);

} // namespace corewise::tests
