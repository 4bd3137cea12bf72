#pragma once

#include <array>
#include <cstddef>

namespace corewise::detail {

/// Tasks and coroutine frames live in recycled blocks of these sizes; larger ones are allocated plainly.
[[gnu::visibility("hidden")]] inline constexpr std::size_t block_sizes[] = {64,   128,  256, 512,
                                                                            1024, 2048, 4096};
inline constexpr std::size_t block_alignment = 64;
inline constexpr std::size_t block_classes = std::size(block_sizes);

/// Returns the class for `bytes`, or `block_classes` when there is none.
constexpr std::size_t block_class(std::size_t bytes) noexcept {
  std::size_t c = 0;
  while (c < block_classes && block_sizes[c] < bytes) ++c;
  return c;
}

/// Returns a recycled block of the calling thread, on its memory node. Cost: a few ns. Throws
/// `std::bad_alloc`.
[[gnu::hot]] void* acquire_block(std::size_t size_class);
/// Does the same, but returns null where there is no memory.
[[gnu::hot]] void* try_acquire_block(std::size_t size_class) noexcept;
/// Gives a block back. Call from any thread. Cost: a few ns; once in 32 blocks a lock.
[[gnu::hot]] void release_block(void* memory, std::size_t size_class) noexcept;

/// Allocate and free memory for which there is no class, as `::operator new` and `delete`. Throws
/// `std::bad_alloc`.
void* acquire_large(std::size_t bytes);
void release_large(void* memory, std::size_t bytes) noexcept;

} // namespace corewise::detail
