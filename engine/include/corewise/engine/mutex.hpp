#pragma once

#include <corewise/engine/detail/awaiting.hpp>
#include <corewise/engine/detail/permits.hpp>

#include <mutex>

namespace corewise {

class mutex;

/// Has a mutex locked, and unlocks it in the end; or has none. Move-only.
class [[nodiscard]] mutex_guard {
 public:
  mutex_guard() noexcept = default;
  mutex_guard(mutex& locked, std::adopt_lock_t) noexcept : locked_(&locked) {}
  mutex_guard(mutex_guard&& other) noexcept : locked_(std::exchange(other.locked_, nullptr)) {}
  mutex_guard& operator=(mutex_guard&& other) noexcept {
    std::swap(locked_, other.locked_);
    return *this;
  }
  ~mutex_guard() { unlock(); }

  explicit operator bool() const noexcept { return locked_ != nullptr; }
  /// Before its end; nothing if it has none.
  void unlock() noexcept;

 private:
  mutex* locked_ = nullptr;
};

/// One coroutine at a time, which may be suspended and go on on other threads meanwhile; the others wait in the order in
/// which they came, and it is handed to who has waited longest. Suspends coroutines, never their threads; a thread waits by
/// `sync_wait`. Not recursive. 24 bytes.
class mutex {
 public:
  mutex() noexcept = default;

  /// `auto lock = co_await m.lock()`: a `mutex_guard`. Any coroutine. Cost: a compare-and-swap when it is free, else two
  /// locked instructions and a resumption; allocates nothing.
  auto lock() noexcept {
    struct awaiter : detail::awaiting<wait_kind::mutex, detail::permits&> {
      mutex& of;
      explicit awaiter(mutex& m) noexcept : awaiting(m.free_), of(m) {}
      mutex_guard await_resume() noexcept { return of.guard_if(take()); }
    };
    return awaiter(*this);
  }
  /// The same, until `token` is told to stop: then the guard has none.
  auto lock(std::stop_token token) noexcept {
    struct awaiter : detail::stoppable_awaiting<wait_kind::mutex, detail::permits&> {
      mutex& of;
      awaiter(std::stop_token t, mutex& m) noexcept : stoppable_awaiting(std::move(t), m.free_), of(m) {}
      mutex_guard await_resume() noexcept { return of.guard_if(take()); }
    };
    return awaiter(std::move(token), *this);
  }
  /// Whether it was free; then the caller unlocks it. It never waits. Any thread.
  [[nodiscard]] bool try_lock() noexcept { return free_.try_take(); }
  /// Any thread. Who has waited longest runs next on the calling worker, or on its own when the caller is no worker of its
  /// engine.
  void unlock() noexcept {
    assert(free_.number() == 0 && "unlocked, and was not locked");
    free_.give(1, 1);
  }

 private:
  mutex_guard guard_if(bool locked) noexcept {
    return locked ? mutex_guard(*this, std::adopt_lock) : mutex_guard();
  }

  detail::permits free_{1};
};

inline void mutex_guard::unlock() noexcept {
  if (locked_ != nullptr) std::exchange(locked_, nullptr)->unlock();
}

} // namespace corewise
