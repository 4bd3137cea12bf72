#pragma once

#include <corewise/engine/detail/oneshot_word.hpp>
#include <corewise/engine/detail/recycled.hpp>

#include <cassert>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace corewise {

/// The exception of a receiver whose sender went without sending.
class broken : public std::runtime_error {
 public:
  broken() : std::runtime_error("the sender of the oneshot went without sending a value") {}
};

namespace detail {

/// The data that the halves of a oneshot share: one recycled block. Invariant: the second half to let go frees it, so
/// neither half asks whether the other one lives.
template <class T> struct oneshot_block {
  oneshot_word word;
  std::optional<T> value;

  /// Lets go for the sender, and wakes a receiver that waits.
  static void end_sending(oneshot_block* self) noexcept {
    const oneshot_word& word = self->word; // for its address only, from the exchange on
    resumption* const before = self->word.send();
    if (word.is_abandoned(before)) return recycled<oneshot_block>::destroy(self);
    if (word.is_waiter(before)) before->wake(); // the receiver frees the block
  }
  /// Lets go for the receiver.
  static void end_receiving(oneshot_block* self) noexcept {
    if (self->word.abandon()) recycled<oneshot_block>::destroy(self);
  }
};

template <class T> struct end_receiving {
  void operator()(oneshot_block<T>* block) const noexcept { oneshot_block<T>::end_receiving(block); }
};
template <class T> struct end_sending {
  void operator()(oneshot_block<T>* block) const noexcept { oneshot_block<T>::end_sending(block); }
};

} // namespace detail

/// The half of a oneshot that sends. Move-only. It may outlive the receiver and the receiver's engine, and
/// does nothing then. Destroying it unused tells the receiver that no value comes (`broken`).
template <class T> class oneshot_sender {
 public:
  explicit oneshot_sender(detail::oneshot_block<T>* block) noexcept : block_(block) {}

  /// Sends the value, made from `args`. Call from any thread, once. The waiting coroutine runs next on the
  /// caller's worker, or on its own worker when the caller is no worker of its engine. Throws what
  /// constructing the value throws, and then nothing was sent.
  template <class... Args> void send(Args&&... args) {
    assert(block_ && "a second value is sent through a oneshot, or the sender was moved from");
    block_->value.emplace(std::forward<Args>(args)...);
    block_.reset();
  }

 private:
  std::unique_ptr<detail::oneshot_block<T>, detail::end_sending<T>> block_;
};

/// The half of a oneshot that receives. Move-only. Destroying it is always allowed, while the sender sends as
/// well.
template <class T> class oneshot_receiver {
  using owner = std::unique_ptr<detail::oneshot_block<T>, detail::end_receiving<T>>;

 public:
  explicit oneshot_receiver(detail::oneshot_block<T>* block) noexcept : block_(block) {}

  /// `co_await r.receive()`: waits for the value. Throws `broken` if the sender went without sending. Call
  /// once, from a coroutine, or by `sync_wait` from a thread; the receiver must stay where it is meanwhile.
  auto receive() noexcept {
    return detail::receiving_oneshot<detail::wait_end::unlink, oneshot_receiver>(word(), *this);
  }

  /// Acts as above, until `token` is told to stop: then the await returns nothing, and the value may be
  /// received by another call.
  auto receive(std::stop_token token) noexcept {
    return detail::stoppable_receiving_oneshot<detail::wait_end::unlink, oneshot_receiver>(
        word(), std::move(token), *this);
  }

 private:
  template <detail::wait_end, class> friend class detail::receiving_oneshot;
  template <detail::wait_end, class> friend class detail::stoppable_receiving_oneshot;

  detail::oneshot_word& word() noexcept {
    assert(block_ && "the value of a oneshot is received a second time, or the receiver was moved from");
    return block_->word;
  }
  T take() {
    const owner ends_here = std::move(block_);
    if (!ends_here->value) throw broken();
    return *std::move(ends_here->value);
  }

  owner block_;
};

/// `auto [sender, receiver] = make_oneshot<T>()`: makes a pair that carries one value from any thread to one
/// coroutine, or by `sync_wait` to a thread. Each half may be moved and destroyed by itself, at any time.
/// Cost: a recycled block; one exchange for each half. Throws `std::bad_alloc`.
template <class T> std::pair<oneshot_sender<T>, oneshot_receiver<T>> make_oneshot() {
  auto* const block = detail::recycled<detail::oneshot_block<T>>::make();
  return {oneshot_sender<T>(block), oneshot_receiver<T>(block)};
}

/// Deprecated: use `make_oneshot`. Here the sender writes into an object that the receiver's side owns. A
/// coroutine of an engine that has ended, and that still waits for the value, is kept for ever.
///
/// Carries one value from any thread to one coroutine, or by `sync_wait` to a thread. The value is sent once
/// and received once, in either order. The owner keeps the oneshot until the value has been received, and may
/// then destroy it at once, even before `send` has returned. Builds with assertions notice a second sender or
/// receiver.
template <class T>
class [[deprecated("use make_oneshot<T>(): its halves may be destroyed at any time")]] oneshot {
 public:
  oneshot() noexcept = default;
  oneshot(const oneshot&) = delete;
  oneshot& operator=(const oneshot&) = delete;

  /// Sends the value, made from `args`. Call from any thread, once. The waiting coroutine runs next on the
  /// caller's worker, or on its own worker when the caller is no worker of its engine. Throws what
  /// constructing the value throws, and then nothing was sent.
  template <class... Args> void send(Args&&... args) {
    value_.emplace(std::forward<Args>(args)...);
    const detail::oneshot_word& word = word_; // for its address only, from the exchange on
    detail::resumption* const before = word_.send();
    assert(!word.was_sent(before) && "a second value is sent through a oneshot");
    if (word.is_waiter(before)) before->wake();
  }

  /// `co_await shot.receive()`: waits for the value. Call once.
  auto receive() noexcept {
    return detail::receiving_oneshot<detail::wait_end::settle, oneshot>(word_, *this);
  }

  /// Acts as above, until `token` is told to stop: then the await returns nothing, and the value may be
  /// received by another call. The sender may still send it.
  auto receive(std::stop_token token) noexcept {
    return detail::stoppable_receiving_oneshot<detail::wait_end::settle, oneshot>(word_, std::move(token),
                                                                                  *this);
  }

 private:
  template <detail::wait_end, class> friend class detail::receiving_oneshot;
  template <detail::wait_end, class> friend class detail::stoppable_receiving_oneshot;

  T take() noexcept(std::is_nothrow_move_constructible_v<T>) {
    word_.note_received();
    return *std::move(value_);
  }

  detail::oneshot_word word_;
  std::optional<T> value_;
};

} // namespace corewise
