#include "base/process_fork.hpp"

#include <corewise/policies/detail/atomic.hpp>

#include <pthread.h>

namespace corewise::detail {

constinit atomic<unsigned> process_forks{0};

namespace {

[[maybe_unused]] const bool registered = [] {
  return ::pthread_atfork(nullptr, nullptr, [] { process_forks.fetch_add(1, std::memory_order_relaxed); }) ==
         0;
}();

} // namespace

} // namespace corewise::detail
