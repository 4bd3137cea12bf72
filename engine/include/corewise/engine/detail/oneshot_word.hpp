#pragma once

#include <corewise/engine/detail/suspension.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <cassert>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <utility>

// How one value goes from a sender to a receiver.
//
// Invariant: one word holds the state, so the second of the two sides sees everything that the first did.
//
//     empty ──send──► sent ──(receive)──► received
//       ├──receive──► waiting ──send──► sent
//       │               └──stop──► empty
//       └──the receiver goes──► abandoned ──send──► sent
//
// | tag  | release site      | acquire site          | publishes              | weakened                  |
// |------|-------------------|-----------------------|------------------------|---------------------------|
// | sent | send: exchange    | receive: loads, CASes;| the value              | half a value is read      |
// |      |                   | abandon: exchange     |                        |                           |
// | wait | begin_waiting:    | send: exchange; stop: | the waiter's frame,    | a coroutine is resumed    |
// |      | CAS               | CAS                   | asleep                 | too early                 |
// | left | abandon: exchange | send: exchange        | the receiver's last    | the shared block is freed |
// |      |                   |                       | use of what they share | while it is used          |

namespace corewise::detail {

class oneshot_word {
 public:
  bool is_sent() const noexcept {
    return state_.load(std::memory_order_acquire) == mark(sent); // pairs: sent
  }
  /// Notes that the value is there, or that there will be none. Returns the state before, which only the
  /// functions below may look into: from here on the word may be gone.
  resumption* send() noexcept {
    return state_.exchange(mark(sent), std::memory_order_acq_rel); // pairs: sent, wait, left
  }
  /// Notes that the receiver is gone. Returns whether the sender is through.
  bool abandon() noexcept {
    return state_.exchange(mark(abandoned), std::memory_order_acq_rel) == mark(sent); // pairs: sent, left
  }
  /// Return whether `before`, which `send` returned, is a waiter; is the mark of a receiver that is gone.
  bool is_waiter(const resumption* before) const noexcept {
    return before != nullptr && before != mark(stopped) && before != mark(abandoned);
  }
  bool is_abandoned(const resumption* before) const noexcept { return before == mark(abandoned); }
  /// Returns whether `before` says that a value was sent before.
  bool was_sent(const resumption* before) const noexcept {
    return before == mark(sent) || before == mark(received);
  }

  bool replace(resumption* from, resumption* to) noexcept {
    return state_.compare_exchange_strong(from, to, std::memory_order_acq_rel, // pairs: wait
                                          std::memory_order_acquire);          // pairs: sent
  }
  /// Returns false if the receiver must go on.
  bool begin_waiting(resumption& waits) noexcept {
    resumption* before = nullptr;
    const bool begun =
        state_.compare_exchange_strong(before, &waits, std::memory_order_acq_rel, // pairs: wait
                                       std::memory_order_acquire);                // pairs: sent
    assert((begun || before == mark(sent) || before == mark(stopped)) &&
           "the value of a oneshot is received a second time");
    return begun;
  }
  /// For builds with assertions.
  void note_received() noexcept { assert(replace(mark(sent), mark(received))); }
  /// Stops the receiver, unless the value is there: one that waits goes on, one that has not begun to wait
  /// will not.
  void stop(resumption& waits) noexcept {
    if (replace(nullptr, mark(stopped))) return;
    if (replace(&waits, nullptr)) waits.wake();
  }
  void forget_stop() noexcept { replace(mark(stopped), nullptr); }

 private:
  // Values that stand for no waiter and are never dereferenced.
  static constexpr std::size_t sent = 0;
  static constexpr std::size_t stopped = 1;  // the receiver that is about to wait must go on
  static constexpr std::size_t received = 2; // in builds with assertions
  static constexpr std::size_t abandoned = 3;
  resumption* mark(std::size_t n) const noexcept {
    auto* const bytes = reinterpret_cast<std::byte*>(const_cast<oneshot_word*>(this));
    return reinterpret_cast<resumption*>(bytes + n);
  }

  atomic<resumption*> state_{nullptr}; // null, the waiter, or one of those values
};

/// A receiver that waits at a word. Lives in the awaiting frame.
template <wait_end End> class oneshot_waiter : public suspension {
 public:
  using threads_may_wait = void;

  explicit oneshot_waiter(oneshot_word& at) noexcept : word_(at) {}
  oneshot_waiter(const oneshot_waiter&) = delete;
  oneshot_waiter& operator=(const oneshot_waiter&) = delete;
  ~oneshot_waiter() {
    const bool left = is_left_waiting();
    free_entry();
    if (left) [[unlikely]]
      word_.replace(this, nullptr);
  }

  bool await_ready() const noexcept { return word_.is_sent(); }
  template <class Promise> bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    suspend(suspended);
    return word_.begin_waiting(*this);
  }

 protected:
  template <class Promise> void suspend(std::coroutine_handle<Promise> suspended) noexcept {
    suspension::suspend(suspended, how);
    take_entry();
  }
  oneshot_word& word() noexcept { return word_; }

 private:
  static withdrawal withdraw(suspension& s) noexcept {
    auto& self = static_cast<oneshot_waiter&>(s);
    return self.word_.replace(&self, nullptr) ? withdrawal::of_end : withdrawal::of_waker;
  }
  [[gnu::visibility("hidden")]] static constexpr wait_record how{wait_kind::oneshot, &withdraw, End};

  oneshot_word& word_;
};

/// The same, until a stop is requested.
template <wait_end End> class stoppable_oneshot_waiter : public oneshot_waiter<End> {
  using base = oneshot_waiter<End>;

 public:
  stoppable_oneshot_waiter(oneshot_word& at, std::stop_token token) noexcept
      : base(at),
        token_(std::move(token)) {}

  bool await_ready() const noexcept { return base::await_ready() || token_.stop_requested(); }
  template <class Promise> bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    this->suspend(suspended);
    on_stop_.emplace(token_, stopper{*this}); // it may be called here, and any time from now on
    return this->word().begin_waiting(*this);
  }

 protected:
  /// Ends the wait. Returns whether the sender is through; false if the receiver was stopped.
  bool end() noexcept {
    on_stop_.reset(); // waits for it, unless this thread is in it
    this->resumed();
    if (!this->word().is_sent()) this->word().forget_stop();
    return this->word().is_sent();
  }

 private:
  struct stopper {
    stoppable_oneshot_waiter& waits;
    void operator()() const noexcept { waits.word().stop(waits); }
  };

  std::stop_token token_;
  std::optional<std::stop_callback<stopper>> on_stop_;
};

/// Awaits the value that `From`, a oneshot or its receiver, takes. Lives in the awaiting frame.
template <wait_end End, class From> class [[nodiscard]] receiving_oneshot : public oneshot_waiter<End> {
 public:
  receiving_oneshot(oneshot_word& at, From& from) noexcept : oneshot_waiter<End>(at), from_(from) {}

  auto await_resume() noexcept(noexcept(std::declval<From&>().take())) {
    this->resumed();
    return from_.take();
  }

 private:
  From& from_;
};

/// The same, until a stop is requested; then the await returns nothing.
template <wait_end End, class From>
class [[nodiscard]] stoppable_receiving_oneshot : public stoppable_oneshot_waiter<End> {
 public:
  stoppable_receiving_oneshot(oneshot_word& at, std::stop_token token, From& from) noexcept
      : stoppable_oneshot_waiter<End>(at, std::move(token)),
        from_(from) {}

  auto await_resume() noexcept(noexcept(std::declval<From&>().take())) {
    using value = std::optional<decltype(from_.take())>; // also of a value that is an optional itself
    return this->end() ? value(std::in_place, from_.take()) : value();
  }

 private:
  From& from_;
};

} // namespace corewise::detail
