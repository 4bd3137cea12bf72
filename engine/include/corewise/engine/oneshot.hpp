#pragma once

#include <corewise/engine/resumption.hpp>

#include <atomic>
#include <cassert>
#include <optional>

namespace corewise {

/// Hands one value from any thread to one coroutine. Sent once, received once, in either order; whoever owns it
/// keeps it until the value has been received, and may then destroy it at once, even before `send` has returned.
///
///     empty ──send──► sent ──(receive)──► done
///       └──receive──► waiting ──send──► sent
///
/// | tag  | release site   | acquire site       | publishes                  | weakened                       |
/// |------|----------------|--------------------|----------------------------|--------------------------------|
/// | sent | send: exchange | receive: load, CAS | the value                  | a value that is half there     |
/// | wait | receive: CAS   | send: exchange     | the waiter's frame, asleep | a coroutine is resumed too early |
template <class T> class oneshot {
 public:
  oneshot() noexcept = default;
  oneshot(const oneshot&) = delete;
  oneshot& operator=(const oneshot&) = delete;

  /// Any thread, once. The waiting coroutine runs next on the caller's worker, or on its own when the caller is no
  /// worker of its engine. Throws what constructing the value throws, and then nothing was sent.
  template <class... Args> void send(Args&&... args) {
    value_.emplace(std::forward<Args>(args)...);
    detail::resumption* const before =
        state_.exchange(sent(), std::memory_order_acq_rel); // pairs: sent, wait
    assert(before != sent());
    // From here on this object may be gone.
    if (before != nullptr) before->wake();
  }

  /// `co_await shot.receive()`: the value, as soon as it was sent. Once.
  auto receive() noexcept {
    struct awaiter {
      oneshot& shot;
      detail::resumption place = {};

      bool await_ready() const noexcept {
        return shot.state_.load(std::memory_order_acquire) == shot.sent(); // pairs: sent
      }
      bool await_suspend(std::coroutine_handle<> suspended) noexcept {
        place.suspend(suspended);
        detail::resumption* expected = nullptr;
        return shot.state_.compare_exchange_strong(expected, &place,
                                                   std::memory_order_acq_rel,  // pairs: wait
                                                   std::memory_order_acquire); // pairs: sent
      }
      T await_resume() noexcept(std::is_nothrow_move_constructible_v<T>) { return *std::move(shot.value_); }
    };
    return awaiter{*this};
  }

 private:
  /// Stands for no waiter, and is never followed: the value is there.
  detail::resumption* sent() noexcept { return reinterpret_cast<detail::resumption*>(this); }

  std::atomic<detail::resumption*> state_{nullptr}; // nobody yet, who waits, or `sent()`
  std::optional<T> value_;
};

} // namespace corewise
