#pragma once

#include "random_round.hpp"

// The actions of random_sequences.

namespace corewise::tests {

/// Submits tasks, reloads and drains until the round is over or the engine refuses tasks. Call from a thread
/// outside.
void act_outside(round& r, std::uint64_t seed);

} // namespace corewise::tests
