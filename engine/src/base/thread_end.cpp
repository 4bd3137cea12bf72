#include "base/thread_end.hpp"

#include <pthread.h>

namespace corewise::detail {

thread_end::~thread_end() {
  if (const std::uint64_t key = key_.exchange(0, std::memory_order_relaxed); key != 0)
    ::pthread_key_delete(static_cast<pthread_key_t>(key - 1));
}

bool thread_end::note() noexcept {
  std::uint64_t key = key_.load(std::memory_order_acquire); // pairs: made
  if (key == 0) {
    pthread_key_t made{};
    if (::pthread_key_create(&made, [](void* self) { static_cast<thread_end*>(self)->act_(); }) != 0)
      return false;
    if (key_.compare_exchange_strong(key, std::uint64_t{made} + 1, std::memory_order_acq_rel, // pairs: made
                                     std::memory_order_acquire))                              // pairs: made
      key = std::uint64_t{made} + 1;
    else
      ::pthread_key_delete(made);
  }
  return ::pthread_setspecific(static_cast<pthread_key_t>(key - 1), this) == 0;
}

} // namespace corewise::detail
