#pragma once

#include "made_machine.hpp"

#include <corewise/policies/policy.hpp>

#include <functional>

// A fast worker of speed 1 and a slow one of speed r, independent arrivals, exponential service of mean 1 on
// the fast one: the Markov chain of how many tasks each has. Its numbers are DESIGN D3b's.

namespace corewise::tests {

/// The share of tasks that goes to the fast worker when it has `fast` tasks and the other has `slow`.
using two_way_rule = std::function<double(std::uint32_t fast, std::uint32_t slow)>;

/// The mean response time where both together are offered `load`, a share of what they can do. Solves the
/// chain's balance equations; exact to 6 digits for loads up to .9.
double response_of_two(double r, double load, const two_way_rule& to_fast);

/// The machine with these two workers: worker 0 is the fast one.
made_machine two_speeds(std::uint32_t slow_capacity);

/// The rule of `nearest_lightest` itself on that machine. For each score it gives ties to the faster worker.
two_way_rule as_nearest_lightest(score_kind score, std::uint32_t slow_capacity);

/// The rule of the fewest tasks, as in D3b's `count` column: it splits ties evenly.
double fewest_ties_split(std::uint32_t fast, std::uint32_t slow);

} // namespace corewise::tests
