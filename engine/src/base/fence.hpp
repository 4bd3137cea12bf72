#pragma once

#include <corewise/policies/detail/atomic.hpp>

#include <atomic>

namespace corewise::detail {

/// Orders a store before it with a load after it: the store-load barrier of the parking protocol
/// (wake_ups.hpp). Nothing is published through it. ThreadSanitizer does not know fences, so there it is a
/// read-modify-write, which is stronger.
inline void full_fence() noexcept {
  step();
#if defined(__SANITIZE_THREAD__)
#define COREWISE_FENCE_BY_RMW 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COREWISE_FENCE_BY_RMW 1
#endif
#endif
#ifdef COREWISE_FENCE_BY_RMW
  static std::atomic<int> word{0};
  word.fetch_add(1, std::memory_order_seq_cst); // pairs: what its caller names
#elif defined(__x86_64__)
  // GCC makes such a fence in this way; Clang makes an mfence, which takes three times as long. This one
  // works in the red zone: the word at the stack's end is read again soon, and that read would wait for the
  // locked instruction.
  asm volatile("lock orl $0, -64(%%rsp)" ::: "memory", "cc");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst); // pairs: what its caller names
#endif
}

/// Tells the core that this is a waiting loop.
inline void pause_core() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield" ::: "memory");
#endif
}

} // namespace corewise::detail
