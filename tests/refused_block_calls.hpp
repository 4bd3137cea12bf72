#pragma once

#include "refused_memory.hpp"

#include <atomic>
#include <cstddef>
#include <new>

// Recycled blocks that are refused as other allocations are. It defines what the linker puts in place of the functions that
// give them (`--wrap`, see `refusing_blocks`): include it in one source.

namespace corewise::tests {

inline std::atomic<int> blocks_refused{0};

inline bool block_refused_now() {
  const bool refused = refused_now();
  blocks_refused += refused ? 1 : 0;
  return refused;
}

} // namespace corewise::tests

/// What the linker gives in place of a function (`--wrap`), and what it calls the function itself.
// NOLINTBEGIN(bugprone-reserved-identifier,misc-definitions-in-headers,readability-identifier-naming)
extern "C" {
void* __real__ZN8corewise6detail16acquire_block_atEm(std::size_t list);
void* __real__ZN8corewise6detail20try_acquire_block_atEm(std::size_t list) noexcept;
[[gnu::used]] void* __wrap__ZN8corewise6detail16acquire_block_atEm(std::size_t list) {
  if (corewise::tests::block_refused_now()) throw std::bad_alloc();
  return __real__ZN8corewise6detail16acquire_block_atEm(list);
}
[[gnu::used]] void* __wrap__ZN8corewise6detail20try_acquire_block_atEm(std::size_t list) noexcept {
  return corewise::tests::block_refused_now() ? nullptr
                                              : __real__ZN8corewise6detail20try_acquire_block_atEm(list);
}
}
// NOLINTEND(bugprone-reserved-identifier,misc-definitions-in-headers,readability-identifier-naming)
