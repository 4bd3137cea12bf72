#pragma once

#include "worker/shared.hpp"

#include <corewise/engine/engine.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

// How many workers of each group a profile asks for, where the host allows it.

namespace corewise::detail {

/// Returns how many workers of each group take part, where the host allows that: what the profile asks for, as far as
/// there are seats. Where none would be left, since the allowed CPUs are those of groups without seats, or without one
/// of a number that was given, all CPUs count as allowed. Throws `topology_error`, `std::bad_alloc`.
std::vector<std::uint32_t> wanted_workers(const shared& engine, const profile& next,
                                          const host_allowance& allowed);

/// Returns whether the host allows more workers than those `wanted`, for which there are no seats. A number that the
/// profile gives does not grow. Throws `std::bad_alloc`.
bool lacks_seats(const shared& engine, const profile& settings, const host_allowance& allowed,
                 std::uint32_t wanted);

/// Why an engine has no more workers though it has seats for them (`runtime::let_more_take`).
inline constexpr std::string_view no_more_workers =
    "the kernel refuses membarrier by now, without which an engine that began with one worker gets no more";

/// Returns the key of the profile that says how many workers there are.
const char* workers_key(const profile& p) noexcept;

/// Returns why `next` needs a restart, if it does; else puts the number of workers that `next` asks for into
/// `workers`, by group.
std::vector<apply_result::reason> what_it_cannot(shared& engine, const profile& next,
                                                 const host_allowance& allowed,
                                                 std::vector<std::uint32_t>& workers);

} // namespace corewise::detail
