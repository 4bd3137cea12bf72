#pragma once

#include <corewise/engine/detail/awaiting.hpp>
#include <corewise/engine/detail/permits.hpp>

#include <mutex>

namespace corewise {

class mutex;

/// Owns the lock of a mutex and unlocks it in the end, or owns none. Move-only.
class [[nodiscard]] mutex_guard {
 public:
  mutex_guard() noexcept = default;
  mutex_guard(mutex& locked, std::adopt_lock_t) noexcept : locked_(&locked) {}
  mutex_guard(mutex_guard&& other) noexcept : locked_(std::exchange(other.locked_, nullptr)) {}
  /// Unlocks what it has locked.
  mutex_guard& operator=(mutex_guard&& other) noexcept {
    mutex_guard taken(std::move(other));
    std::swap(locked_, taken.locked_);
    return *this;
  }
  ~mutex_guard() { unlock(); }

  explicit operator bool() const noexcept { return locked_ != nullptr; }
  /// Unlocks before the guard's end; does nothing if the guard owns no lock.
  void unlock() noexcept;

 private:
  mutex* locked_ = nullptr;
};

/// Lets one coroutine at a time in. That coroutine may be suspended and go on on other threads meanwhile. The
/// others wait in the order in which they came, and unlocking passes the mutex to the one that has waited
/// longest. Waiting suspends the coroutine, never its thread; a thread waits by `sync_wait`. Not recursive.
/// 24 bytes.
class mutex {
 public:
  mutex() noexcept = default;

  /// `auto lock = co_await m.lock()`: locks the mutex; the await returns a `mutex_guard`. Call from any
  /// coroutine. Cost: a compare-and-swap when the mutex is free, else two locked instructions and a
  /// resumption; allocates nothing.
  auto lock() noexcept {
    struct [[nodiscard]] awaiter : detail::awaiting<wait_kind::mutex, detail::permits&> {
      mutex& of;
      explicit awaiter(mutex& m) noexcept : awaiting(m.free_), of(m) {}
      [[nodiscard]] mutex_guard await_resume() noexcept { return of.guard_if(take()); }
    };
    return awaiter(*this);
  }
  /// Acts as above, until `token` is told to stop: then the guard owns no lock.
  auto lock(std::stop_token token) noexcept {
    struct [[nodiscard]] awaiter : detail::stoppable_awaiting<wait_kind::mutex, detail::permits&> {
      mutex& of;
      awaiter(std::stop_token t, mutex& m) noexcept : stoppable_awaiting(std::move(t), m.free_), of(m) {}
      [[nodiscard]] mutex_guard await_resume() noexcept { return of.guard_if(take()); }
    };
    return awaiter(std::move(token), *this);
  }
  /// Locks the mutex if it is free, and never waits. Returns whether it did; then the caller must unlock it.
  /// Call from any thread.
  [[nodiscard]] bool try_lock() noexcept { return free_.try_take(); }
  /// Unlocks the mutex. The coroutine that has waited longest runs next on the calling worker, or on its own
  /// worker when the caller is no worker of its engine. Call from any thread.
  void unlock() noexcept {
    assert(free_.number() == 0 && "the unlocked mutex was not locked");
    free_.give(1, 1);
  }

 private:
  mutex_guard guard_if(bool locked) noexcept {
    return locked ? mutex_guard(*this, std::adopt_lock) : mutex_guard();
  }

  detail::permits free_{1, 1};
};

inline void mutex_guard::unlock() noexcept {
  if (locked_ != nullptr) std::exchange(locked_, nullptr)->unlock();
}

} // namespace corewise
