#pragma once

#include <corewise/engine/detail/lock.hpp>
#include <corewise/engine/suspended.hpp>

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace corewise::io::detail {

class descriptor_waits;

/// Returns the time of CLOCK_MONOTONIC_COARSE, which is some milliseconds old. Cost: 5 ns.
std::int64_t coarse_now_ns() noexcept;

/// Says that an operation waits for a descriptor; a dump reads it. Lies in the operation, and has no values until it is in a
/// list: most operations never wait.
struct descriptor_wait {
  corewise::wait_kind kind;
  int descriptor;
  std::int64_t since_ns; ///< `coarse_now_ns`
  /// To which it connects or sends, which the kernel does not tell; or a `sockaddr_in`. AF_UNSPEC: the kernel tells it.
  sockaddr_in6 peer;

 private:
  friend descriptor_waits;

  descriptor_wait* before_;
  descriptor_wait* after_;
};

/// Waits, those that began first in front. Call from any thread. Cost: a lock.
class descriptor_waits {
 public:
  void append(descriptor_wait& w) noexcept {
    const std::scoped_lock lock(mutex_);
    w.before_ = last_;
    w.after_ = nullptr;
    (last_ != nullptr ? last_->after_ : first_) = &w;
    last_ = &w;
  }
  void remove(descriptor_wait& w) noexcept {
    const std::scoped_lock lock(mutex_);
    (w.before_ != nullptr ? w.before_->after_ : first_) = w.after_;
    (w.after_ != nullptr ? w.after_->before_ : last_) = w.before_;
  }
  /// Calls `f(wait)` for the first ones, at most `most`, with the lock held.
  template <class F> void for_first(std::size_t most, const F& f) const {
    const std::scoped_lock lock(mutex_);
    const descriptor_wait* w = first_;
    for (std::size_t i = 0; i < most && w != nullptr; ++i, w = w->after_) f(*w);
  }

 private:
  mutable corewise::detail::mutex mutex_;
  descriptor_wait* first_ = nullptr; // guarded, and the links
  descriptor_wait* last_ = nullptr;
};

} // namespace corewise::io::detail
