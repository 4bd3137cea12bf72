#pragma once

#include <cstdint>

// The sizes of a pass of each axis, in `corewise run` and in the programs that bench/axes compares with it.
// Tokio's sizes are in bench/axes/tokio.rs.

namespace corewise::command {

constexpr std::uint64_t ping_pong_pairs = 1000;
constexpr std::uint64_t chained_fork_depth = 1000;
constexpr std::uint64_t fork_many_tasks = 10'000;
constexpr std::uint64_t yield_many_tasks = 200;
constexpr std::uint64_t yields_of_each = 1000;

} // namespace corewise::command
