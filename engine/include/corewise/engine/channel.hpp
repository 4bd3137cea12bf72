#pragma once

#include <corewise/engine/detail/awaiting.hpp>
#include <corewise/engine/detail/lock_word.hpp>

#include <memory>
#include <type_traits>

namespace corewise {

/// Carries values from coroutines to coroutines, many to many, in the order in which they were sent. At most
/// `capacity` values wait in between: a sender of more waits, and with 0 a sender and a receiver meet.
/// Senders and receivers are served in the order in which they came. Waiting suspends the coroutine, never
/// its thread; a thread sends and receives by `sync_wait`.
///
///     for (auto v = co_await c.receive(); v; v = co_await c.receive()) use(*v);
///
/// One lock guards the channel. It is held for as long as a value takes to be moved, twice at most; so send
/// values that are cheap to move. Each value is received once. When all waiters have gone on the channel may
/// be destroyed, with the values that no coroutine has received.
template <class T> class channel {
  static_assert(
      std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
      "the channel moves its values, and a move must not throw; send a std::unique_ptr to the value instead");

  struct sender : detail::waiter {
    T* value = nullptr;
  };
  struct receiver : detail::waiter {
    std::optional<T> value = {};
  };
  enum class outcome : std::uint8_t { done, closed, waits, cannot };

  /// Notes that a closed channel leaves nothing to wait for. Returns whether the waiter has what it came for.
  static bool ended(detail::waiter& w, outcome is) noexcept {
    if (is == outcome::closed) w.state = detail::wait_state::stopped;
    return is == outcome::done;
  }

  struct sending {
    static constexpr bool enters_at_once = true;
    channel& to;

    const void* list() const noexcept { return &to; }
    bool try_pass(sender& s) noexcept { return ended(s, to.put(*s.value, nullptr)); }
    bool enter(sender& s) noexcept { return to.put(*s.value, &s) == outcome::waits; }
    bool leave(sender& s) noexcept { return to.leave(to.senders_, s); }
    void give_back() const noexcept {}
    bool take_back(const sender&) const noexcept { return false; } // the value is gone
  };
  struct receiving {
    static constexpr bool enters_at_once = true;
    channel& from;

    const void* list() const noexcept { return &from; }
    bool try_pass(receiver& r) noexcept { return ended(r, from.take(r.value, nullptr)); }
    bool enter(receiver& r) noexcept { return from.take(r.value, &r) == outcome::waits; }
    bool leave(receiver& r) noexcept { return from.leave(from.receivers_, r); }
    void give_back() const noexcept {} // a value that a task received goes with the task
    bool take_back(receiver& r) noexcept { return from.put_back(r.value); }
  };

  template <class Awaiting> struct sent : Awaiting {
    using Awaiting::Awaiting;
    bool await_resume() noexcept { return this->take(); }
  };
  template <class Awaiting> struct sent_copy : sent<Awaiting> {
    T copy;
    template <class... Args>
    explicit sent_copy(const T& original, Args&&... args)
        : sent<Awaiting>(std::forward<Args>(args)..., &copy),
          copy(original) {}
  };
  template <class Awaiting> struct received : Awaiting {
    using Awaiting::Awaiting;
    std::optional<T> await_resume() noexcept {
      return this->take() ? std::move(this->own().value) : std::nullopt;
    }
  };

  using send_awaiting = detail::awaiting<wait_kind::send, sending, sender>;
  using receive_awaiting = detail::awaiting<wait_kind::receive, receiving, receiver>;
  using stoppable_receive = detail::stoppable_awaiting<wait_kind::receive, receiving, receiver>;
  using stoppable_send = detail::stoppable_awaiting<wait_kind::send, sending, sender>;

 public:
  /// Allocates room for `capacity` values, once. Throws `std::bad_alloc`.
  explicit channel(std::size_t capacity)
      : capacity_(capacity),
        room_(capacity == 0 ? nullptr : std::allocator<T>().allocate(capacity)) {}
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;
  ~channel() {
    assert(senders_.empty() && receivers_.empty() && "destroyed while a coroutine waits for it");
    while (size_ != 0) pop_front();
    if (room_ != nullptr) std::allocator<T>().deallocate(room_, capacity_);
  }

  /// `co_await c.send(value)`: sends a value. The await returns true when the value was received or has room
  /// to wait. It returns false when the channel is closed; then the value is still the caller's, since a
  /// value is moved from only when it is taken. Call from any coroutine, which must await it in the same
  /// expression. Cost: two locked instructions, and a resumption for a coroutine that waits; allocates
  /// nothing.
  auto send(T&& value) noexcept { return sent<send_awaiting>(sending{*this}, &value); }
  auto send(const T& value) { return sent_copy<send_awaiting>(value, sending{*this}); }
  /// Acts as above, until `token` is told to stop: then the await returns false, too.
  auto send(T&& value, std::stop_token token) noexcept {
    return sent<stoppable_send>(std::move(token), sending{*this}, &value);
  }
  auto send(const T& value, std::stop_token token) {
    return sent_copy<stoppable_send>(value, std::move(token), sending{*this});
  }
  /// Sends a value without waiting. Returns whether it was sent; if not, the value is still the caller's.
  /// Call from any thread.
  [[nodiscard]] bool try_send(T&& value) noexcept { return put(value, nullptr) == outcome::done; }
  [[nodiscard]] bool try_send(const T& value) { return try_send(T(value)); }

  /// `std::optional<T> v = co_await c.receive()`: receives a value. The await returns nothing when the
  /// channel is closed and all values that were sent before have been received. Call from any coroutine.
  /// Cost: as `send`.
  auto receive() noexcept { return received<receive_awaiting>(receiving{*this}); }
  /// Acts as above, until `token` is told to stop: then the await returns nothing, too. A value that came
  /// meanwhile goes to the next receiver or to the front of the channel; where there is no room for it, or
  /// the channel is closed, the await returns it.
  auto receive(std::stop_token token) noexcept {
    return received<stoppable_receive>(std::move(token), receiving{*this});
  }
  /// Receives a value without waiting. Returns nothing if none is there. Call from any thread.
  [[nodiscard]] std::optional<T> try_receive() noexcept {
    std::optional<T> value;
    static_cast<void>(take(value, nullptr));
    return value;
  }

  /// Closes the channel, so that nothing can be sent any more. Waiting senders get false; receivers get
  /// nothing when no value is left. Call from any thread, any number of times.
  void close() noexcept {
    word_.lock();
    const detail::woken receivers = receivers_.pop_all(detail::wait_state::stopped);
    const detail::woken senders = senders_.pop_all(detail::wait_state::stopped);
    word_.unlock(closed_word);
    receivers.wake();
    senders.wake();
  }
  bool closed() const noexcept { return is_closed(word_.look()); }
  std::size_t capacity() const noexcept { return capacity_; }

 private:
  using bits = detail::lock_word::bits;
  static constexpr bits closed_word = detail::lock_word::of(1, false);
  static bool is_closed(bits seen) noexcept { return detail::lock_word::number(seen) != 0; }

  /// Sets the state of `w`, under the lock; from here on a stop comes too late.
  static void settle(detail::waiter* w, detail::wait_state gets) noexcept {
    if (w != nullptr) w->state = gets;
  }

  /// Sends `value`, and moves from it if that is done. Otherwise `s` waits, if there is one and it was not
  /// stopped.
  outcome put(T& value, sender* s) noexcept {
    const bits word = word_.lock();
    if (s != nullptr && s->part != nullptr) [[unlikely]]
      return join_race(*s, senders_, receivers_, size_ != capacity_, word);
    if (is_closed(word)) {
      settle(s, detail::wait_state::stopped);
      return word_.unlock(word), outcome::closed;
    }
    detail::waiter* const r = receivers_.pop();
    if (r == nullptr && size_ == capacity_) {
      const outcome is = wait(senders_, s);
      return word_.unlock(word), is;
    }
    settle(s, detail::wait_state::granted);
    if (r == nullptr) push_back(value);
    word_.unlock(word);
    if (r == nullptr) return outcome::done;
    static_cast<receiver*>(r)->value.emplace(std::move(value));
    return r->wake(), outcome::done;
  }

  /// Moves the oldest value into `value`. If there is none, `r` waits, if there is one and it was not
  /// stopped.
  outcome take(std::optional<T>& value, receiver* r) noexcept {
    const bits word = word_.lock();
    if (r != nullptr && r->part != nullptr) [[unlikely]]
      return join_race(*r, receivers_, senders_, size_ != 0, word);
    auto* const s = static_cast<sender*>(senders_.pop());
    if (s == nullptr && size_ == 0) {
      const outcome is = is_closed(word) ? outcome::closed : wait(receivers_, r);
      if (is == outcome::closed) settle(r, detail::wait_state::stopped);
      return word_.unlock(word), is;
    }
    settle(r, detail::wait_state::granted);
    const bool direct = size_ == 0; // there is no room in between
    if (!direct) {
      value.emplace(std::move(room_[head_]));
      pop_front();
      if (s != nullptr) push_back(*s->value);
    }
    word_.unlock(word);
    if (direct) value.emplace(std::move(*s->value));
    if (s != nullptr) s->wake();
    return outcome::done;
  }

  /// Gives a value, which was received last, to the receiver that has waited longest, or puts it in front of
  /// all others. Returns false if there is no room, or no receiver may come any more.
  bool put_back(std::optional<T>& value) noexcept {
    const bits word = word_.lock();
    detail::waiter* const r = receivers_.pop();
    const bool taken = r != nullptr || (size_ != capacity_ && !is_closed(word));
    if (r == nullptr && taken) push_front(*value);
    word_.unlock(word);
    if (r != nullptr) {
      static_cast<receiver*>(r)->value.emplace(std::move(*value));
      r->wake();
    }
    if (taken) value.reset();
    return taken;
  }

  /// Puts a waiter that is in a race into its list, unless it need not wait. Releases the lock.
  [[gnu::noinline, gnu::cold]] outcome join_race(detail::waiter& w, detail::waiter_list& own,
                                                 const detail::waiter_list& facing, bool possible,
                                                 bits word) noexcept {
    const bool ready = is_closed(word) || possible || facing.has_other(*w.part->race);
    const outcome is = ready ? outcome::cannot : wait(own, &w);
    return word_.unlock(word), is;
  }
  static outcome wait(detail::waiter_list& list, detail::waiter* w) noexcept {
    if (w == nullptr || w->state == detail::wait_state::stopped) return outcome::cannot;
    return list.push(*w), outcome::waits;
  }
  bool leave(detail::waiter_list& list, detail::waiter& w) noexcept {
    const bits word = word_.lock();
    const bool was_in = list.stop(w);
    return word_.unlock(word), was_in;
  }

  void push_back(T& value) noexcept {
    const std::size_t to_the_end = capacity_ - head_;
    std::construct_at(room_ + (size_ < to_the_end ? head_ + size_ : size_ - to_the_end), std::move(value));
    ++size_;
  }
  void push_front(T& value) noexcept {
    head_ = (head_ == 0 ? capacity_ : head_) - 1;
    std::construct_at(room_ + head_, std::move(value));
    ++size_;
  }
  void pop_front() noexcept {
    std::destroy_at(room_ + head_);
    if (++head_ == capacity_) head_ = 0;
    --size_;
  }

  detail::lock_word word_{0};     // 1: the channel is closed
  detail::waiter_list senders_;   // only while there is no room, except for those whose race is over
  detail::waiter_list receivers_; // only while there is no value, as above
  std::size_t head_ = 0;
  std::size_t size_ = 0;
  std::size_t capacity_;
  T* room_;
};

} // namespace corewise
