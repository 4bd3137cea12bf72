#pragma once

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

// Threads that the system refuses. It defines what stands in front of the system's `pthread_create`: include it in one source.

namespace corewise::tests {

inline std::atomic<int> threads_before_refusal{0}; // 1: the next one that is made is refused; 0: none

} // namespace corewise::tests

// NOLINTNEXTLINE(misc-definitions-in-headers)
extern "C" int pthread_create(pthread_t* made, const pthread_attr_t* how, void* (*act)(void*), void* with) {
  using create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto systems = reinterpret_cast<create>(::dlsym(RTLD_NEXT, "pthread_create"));
  std::atomic<int>& before_refusal = corewise::tests::threads_before_refusal;
  if (before_refusal.load() > 0 && before_refusal.fetch_sub(1) == 1) return EAGAIN;
  return systems(made, how, act, with);
}
