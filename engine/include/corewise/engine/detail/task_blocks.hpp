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

/// The length of one class's list in a thread's cache, in bytes. Callers know the class, and so where its list lies,
/// when they are compiled; that saves instructions at each block.
inline constexpr std::size_t block_list_bytes = 2 * sizeof(void*);

/// Do what those below do. `list`: where the list of the class begins among a thread's lists, in bytes.
[[gnu::hot]] void* acquire_block_at(std::size_t list);
[[gnu::hot]] void* try_acquire_block_at(std::size_t list) noexcept;
[[gnu::hot]] void release_block_at(void* memory, std::size_t list) noexcept;

/// Returns a recycled block of the calling thread, aligned to its size, on the thread's memory node. Cost: a few ns. Throws
/// `std::bad_alloc`.
inline void* acquire_block(std::size_t size_class) { return acquire_block_at(size_class * block_list_bytes); }
/// Does the same, but returns null where there is no memory.
inline void* try_acquire_block(std::size_t size_class) noexcept {
  return try_acquire_block_at(size_class * block_list_bytes);
}
/// Gives a block back. Call from any thread. Cost: a few ns; once in 32 blocks a lock.
inline void release_block(void* memory, std::size_t size_class) noexcept {
  release_block_at(memory, size_class * block_list_bytes);
}

/// Allocate and free memory for which there is no class, as `::operator new` and `delete`. Throws
/// `std::bad_alloc`.
void* acquire_large(std::size_t bytes);
void release_large(void* memory, std::size_t bytes) noexcept;

} // namespace corewise::detail
