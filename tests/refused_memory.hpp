#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

// Allocations that fail when a test says so. It defines `operator new` for the program: include it in one source.

namespace corewise::tests {

inline thread_local bool spared = false; ///< the calling thread always gets memory
inline std::atomic<int> before_refusal{
    0}; ///< allocations on other threads, of which the last is refused; 0: none is

inline bool refused_now() { return !spared && before_refusal.load() > 0 && before_refusal.fetch_sub(1) == 1; }

} // namespace corewise::tests

// NOLINTBEGIN(misc-definitions-in-headers): replacements cannot be inline
// Neither is inlined: if GCC 12 has inlined one of a pair, it takes the pair for a mistake.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (corewise::tests::refused_now()) throw std::bad_alloc();
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (corewise::tests::refused_now()) throw std::bad_alloc();
  void* memory = nullptr; // not from aligned_alloc, which a test may refuse by itself
  if (::posix_memalign(&memory, static_cast<std::size_t>(alignment), bytes) == 0) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
// NOLINTEND(misc-definitions-in-headers)
