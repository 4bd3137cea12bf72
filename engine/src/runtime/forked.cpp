#include "forked.hpp"

#include <pthread.h>

#include <atomic>

namespace corewise::detail {

namespace {

std::atomic<unsigned> generation{0}; // relaxed: written in a process that has one thread only

const bool registered = [] {
  return ::pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); }) == 0;
}();

} // namespace

unsigned fork_generation() noexcept {
  static_cast<void>(registered);
  return generation.load(std::memory_order_relaxed);
}

} // namespace corewise::detail
