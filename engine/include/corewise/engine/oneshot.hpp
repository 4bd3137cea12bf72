#pragma once

#include <corewise/engine/detail/suspension.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <cassert>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <utility>

namespace corewise {

/// Carries one value from any thread to one coroutine, or by `sync_wait` to a thread. The value is sent once
/// and received once, in either order. The owner keeps the oneshot until the value has been received, and may
/// then destroy it at once, even before `send` has returned. Builds with assertions notice a second sender or
/// receiver.
///
/// Invariant: one word holds the state, so the second of the two sides sees everything that the first did.
///
///     empty ──send──► sent ──(receive)──► done
///       └──receive──► waiting ──send──► sent
///                       └──stop──► empty
///
/// | tag  | release site   | acquire site          | publishes           | weakened               |
/// |------|----------------|-----------------------|---------------------|------------------------|
/// | sent | send: exchange | receive: loads, CASes | the value           | half a value is read   |
/// | wait | receive: CAS   | send: exchange; stop: | the waiter's frame, | a coroutine is resumed |
/// |      |                | CAS                   | asleep              | too early              |
template <class T> class oneshot {
 public:
  oneshot() noexcept = default;
  oneshot(const oneshot&) = delete;
  oneshot& operator=(const oneshot&) = delete;

  /// Sends the value, made from `args`. Call from any thread, once. The waiting coroutine runs next on the
  /// caller's worker, or on its own worker when the caller is no worker of its engine. Throws what
  /// constructing the value throws, and then nothing was sent.
  template <class... Args> void send(Args&&... args) {
    value_.emplace(std::forward<Args>(args)...);
    detail::resumption* const before =
        state_.exchange(sent(), std::memory_order_acq_rel); // pairs: sent, wait
    assert(before != sent() && before != received() && "a second value is sent through a oneshot");
    // From here on this object may be gone.
    if (before != nullptr && before != stopped()) before->wake();
  }

  /// `co_await shot.receive()`: waits for the value. Call once.
  auto receive() noexcept {
    struct awaiter : place {
      using place::place;

      bool await_ready() const noexcept { return this->shot.is_sent(); }
      bool await_suspend(std::coroutine_handle<> suspended) noexcept {
        this->suspend(suspended);
        return this->shot.begin_waiting(*this);
      }
      T await_resume() noexcept(std::is_nothrow_move_constructible_v<T>) {
        this->resumed();
        this->shot.note_received();
        return *std::move(this->shot.value_);
      }
    };
    return awaiter(*this);
  }

  /// Acts as above, until `token` is told to stop: then the await returns nothing, and the value may be
  /// received by another call. The sender may still send it.
  auto receive(std::stop_token token) noexcept {
    struct awaiter : place {
      struct stopper {
        awaiter& waits;
        void operator()() const noexcept { waits.shot.stop(waits); }
      };
      std::stop_token token;
      std::optional<std::stop_callback<stopper>> on_stop;

      awaiter(oneshot& from, std::stop_token t) noexcept : place(from), token(std::move(t)) {}

      bool await_ready() const noexcept { return this->shot.is_sent() || token.stop_requested(); }
      bool await_suspend(std::coroutine_handle<> suspended) noexcept {
        this->suspend(suspended);
        on_stop.emplace(token, stopper{*this}); // it may be called here, and any time from now on
        return this->shot.begin_waiting(*this);
      }
      std::optional<T> await_resume() noexcept(std::is_nothrow_move_constructible_v<T>) {
        on_stop.reset(); // waits for it, unless this thread is in it
        this->resumed();
        if (!this->shot.is_sent()) this->shot.replace(this->shot.stopped(), nullptr);
        if (!this->shot.is_sent()) return std::nullopt;
        this->shot.note_received();
        return std::move(this->shot.value_);
      }
    };
    return awaiter(*this, std::move(token));
  }

 private:
  /// The receiver. Lives in the awaiting frame.
  struct place : detail::suspension {
    explicit place(oneshot& from) noexcept : shot(from) {}
    place(const place&) = delete;
    place& operator=(const place&) = delete;
    ~place() {
      free_entry();
      if (waits_outside()) [[unlikely]]
        shot.replace(this, nullptr);
    }
    using threads_may_wait = void;

    void suspend(std::coroutine_handle<> suspended) noexcept {
      static constexpr detail::wait_record how{wait_kind::oneshot, &withdraw};
      detail::suspension::suspend(suspended, how);
      take_entry();
    }
    static bool withdraw(detail::suspension& s) noexcept {
      auto& self = static_cast<place&>(s);
      return self.shot.replace(&self, nullptr);
    }

    oneshot& shot;
  };

  // Values that stand for no waiter and are never dereferenced: the value was sent; the receiver that is
  // about to wait must go on; in builds with assertions, the value was received.
  detail::resumption* sent() noexcept { return mark(0); }
  detail::resumption* stopped() noexcept { return mark(1); }
  detail::resumption* received() noexcept { return mark(2); }
  detail::resumption* mark(std::size_t n) noexcept {
    return reinterpret_cast<detail::resumption*>(reinterpret_cast<std::byte*>(this) + n);
  }

  bool is_sent() noexcept { return state_.load(std::memory_order_acquire) == sent(); } // pairs: sent
  bool replace(detail::resumption* from, detail::resumption* to) noexcept {
    return state_.compare_exchange_strong(from, to, std::memory_order_acq_rel, // pairs: wait
                                          std::memory_order_acquire);          // pairs: sent
  }
  /// Returns false if the receiver must go on.
  bool begin_waiting(detail::resumption& waits) noexcept {
    detail::resumption* before = nullptr;
    const bool begun =
        state_.compare_exchange_strong(before, &waits, std::memory_order_acq_rel, // pairs: wait
                                       std::memory_order_acquire);                // pairs: sent
    assert((begun || before == sent() || before == stopped()) &&
           "the value of a oneshot is received a second time");
    return begun;
  }
  void note_received() noexcept { assert(replace(sent(), received())); }
  /// Stops the receiver, unless the value is there: one that waits goes on, one that has not begun to wait
  /// will not.
  void stop(detail::resumption& waits) noexcept {
    if (replace(nullptr, stopped())) return;
    if (replace(&waits, nullptr)) waits.wake();
  }

  detail::atomic<detail::resumption*> state_{nullptr}; // null, the waiter, or one of those values
  std::optional<T> value_;
};

} // namespace corewise
