#pragma once

#include <corewise/engine/detail/awaiting.hpp>
#include <corewise/engine/detail/channel_end.hpp>
#include <corewise/engine/task.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <type_traits>
#include <vector>

namespace corewise {

/// Carries values from coroutines to coroutines, many to many, in the order in which they were sent. At most
/// `capacity` values wait in between: a sender of more waits, and with 0 a sender and a receiver meet.
/// Senders and receivers are served in the order in which they came. Waiting suspends the coroutine, never
/// its thread; a thread sends and receives by `sync_wait`.
///
///     for (auto v = co_await c.receive(); v; v = co_await c.receive()) use(*v);
///
/// A lock guards each end of the channel. It is held for as long as 32 values take to be moved at most; so send
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
    static constexpr bool enters_at_once = false;
    channel& to;

    const void* list() const noexcept { return &to; }
    bool try_quickly(sender& s) noexcept { return to.put_alone(*s.value); }
    bool try_pass(sender& s) noexcept { return ended(s, to.try_put(*s.value)); }
    bool enter(sender& s) noexcept { return to.put(*s.value, &s) == outcome::waits; }
    bool leave(sender& s) noexcept { return to.leave(to.senders_, s); }
    void give_back() const noexcept {}
    bool take_back(const sender&) const noexcept { return false; } // the value is gone
  };
  struct receiving {
    static constexpr bool enters_at_once = false;
    channel& from;

    const void* list() const noexcept { return &from; }
    bool try_quickly(receiver& r) noexcept { return from.take_alone(r.value); }
    bool try_pass(receiver& r) noexcept { return ended(r, from.try_take(r.value)); }
    bool enter(receiver& r) noexcept { return from.take(r.value, &r) == outcome::waits; }
    bool leave(receiver& r) noexcept { return from.leave(from.receivers_, r); }
    void give_back() const noexcept {} // a value that a task received goes with the task
    bool take_back(receiver& r) noexcept { return from.put_back(r.value); }
  };

  template <class Awaiting> struct [[nodiscard]] sent : Awaiting {
    using Awaiting::Awaiting;
    bool await_resume() noexcept { return this->take(); }
  };
  template <class Awaiting> struct [[nodiscard]] sent_copy : sent<Awaiting> {
    T copy;
    template <class... Args>
    explicit sent_copy(const T& original, Args&&... args)
        : sent<Awaiting>(std::forward<Args>(args)..., &copy),
          copy(original) {}
  };
  template <class Awaiting> struct [[nodiscard]] received : Awaiting {
    using Awaiting::Awaiting;
    std::optional<T> await_resume() noexcept {
      if (!this->take()) return std::nullopt;
      // GCC 12 moves a whole optional at once, and waits for the stores of its halves.
      return std::optional<T>(std::in_place, std::move(*this->own().value));
    }
  };

  using send_awaiting = detail::awaiting<wait_kind::send, sending, sender>;
  using receive_awaiting = detail::awaiting<wait_kind::receive, receiving, receiver>;
  using stoppable_receive = detail::stoppable_awaiting<wait_kind::receive, receiving, receiver>;
  using stoppable_send = detail::stoppable_awaiting<wait_kind::send, sending, sender>;

 public:
  /// Allocates room for `capacity` values, once. Throws `std::bad_alloc`; `std::length_error` if `capacity` is
  /// above 536,870,911.
  explicit channel(std::size_t capacity) : channel(capacity, allocate(capacity)) {}
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;
  ~channel() {
    assert(senders_.empty() && receivers_.empty() && "destroyed while a coroutine waits for it");
    for (std::size_t left = values(sending_.word.look(), receiving_.word.look()); left != 0; --left)
      pop_front();
    if (sending_.room != nullptr) std::allocator<T>().deallocate(sending_.room, capacity());
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
  [[nodiscard]] bool try_send(T&& value) noexcept { return try_put(value) == outcome::done; }
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
    static_cast<void>(try_take(value));
    return value;
  }

  /// `co_await c.send_all(values)`: sends the values, in their order; those of other senders may come in
  /// between. The await returns how many were sent: all, or fewer if the channel was closed, or `token` told
  /// to stop; those that were sent are moved from. The values must live until then. Cost: a coroutine's frame,
  /// two locked instructions for 32 values while there is room, else as `send`.
  task<std::size_t> send_all(std::span<T> values, std::stop_token token = {}) {
    std::size_t number = 0;
    while (number != values.size()) {
      number += put_alone(&values[number], std::min(values.size() - number, at_once));
      if (number == values.size()) break;
      const bool one = co_await send(std::move(values[number]), token);
      if (!one) break;
      ++number;
    }
    co_return number;
  }
  /// `co_await c.receive_some(into, most)`: waits for a value, and appends it and those that follow at once to
  /// `into`, at most `most`, nor more than fit into the channel. The await returns how many: 0 if the channel is
  /// closed and empty, or `token` was told to stop, or `most` is 0. Throws `std::bad_alloc` before anything is
  /// received. Cost: as above.
  task<std::size_t> receive_some(std::vector<T>& into, std::size_t most, std::stop_token token = {}) {
    most = std::min(most, std::max<std::size_t>(capacity(), 1));
    if (most == 0) co_return 0;
    if (into.capacity() - into.size() < most) // what is appended again and again must not be copied each time
      into.reserve(std::max(into.size() + most, 2 * into.size()));
    const auto store = [&into](T&& got) { into.push_back(std::move(got)); };
    std::size_t number = 0;
    for (std::optional<T> next = co_await receive(token); next; next = try_receive()) {
      store(std::move(*next)); // by itself, since senders may wait behind it
      ++number;
      number += take_alone(std::min(most - number, at_once), store);
      if (number == most) break;
    }
    co_return number;
  }

  /// Closes the channel, so that nothing can be sent any more. Waiting senders get false; receivers get
  /// nothing when no value is left. Call from any thread, any number of times.
  void close() noexcept {
    auto [tail, head] = lock_both();
    const detail::woken receivers = receivers_.pop_all(detail::wait_state::stopped);
    const detail::woken senders = senders_.pop_all(detail::wait_state::stopped);
    unlock_both(tail | end::closed, head);
    receivers.wake();
    senders.wake();
  }
  bool closed() const noexcept { return (sending_.word.look() & end::closed) != 0; }
  std::size_t capacity() const noexcept { return sending_.capacity; }

 private:
  using end = detail::channel_end<T>;
  using bits = typename end::bits;
  static constexpr std::size_t at_once = 32; // under a lock
  /// The words of both ends, which are locked: of the sending one, and of the receiving one.
  struct both_words {
    bits tail, head;
  };

  channel(std::size_t capacity, T* room) noexcept
      : sending_{.capacity = capacity, .room = room},
        receiving_{.capacity = capacity, .room = room} {}
  static T* allocate(std::size_t capacity) {
    if (capacity > end::largest) throw std::length_error("a channel has room for 536870911 values at most");
    return capacity == 0 ? nullptr : std::allocator<T>().allocate(capacity);
  }

  static std::size_t values(bits tail, bits head) noexcept { return end::distance(head, tail); }
  /// Locks both ends. Without room in between the sending one guards the lists alone.
  both_words lock_both() noexcept {
    const bits tail = sending_.word.lock();
    if (capacity() == 0) return {tail, tail};
    const bits head = receiving_.word.lock();
    receiving_.other = tail;
    return {tail, head};
  }
  void unlock_both(bits tail, bits head) noexcept {
    if (capacity() != 0) {
      tail = receivers_.empty() ? tail & ~end::waited_for : tail | end::waited_for;
      head = senders_.empty() ? head & ~end::waited_for : head | end::waited_for;
      sending_.other = head;
      receiving_.word.unlock(head);
    }
    sending_.word.unlock(tail);
  }

  /// Sets the state of `w`, under the lock; from here on a stop comes too late.
  static void settle(detail::waiter* w, detail::wait_state gets) noexcept {
    if (w != nullptr) w->state = gets;
  }

  static bits look(end& own, const end& other) noexcept { return own.other = other.word.look(); }

  /// Sends values at the sending end alone, as many as it can. Returns how many: fewer where there is no room,
  /// or where it takes both ends.
  std::size_t put_alone(T* from, std::size_t most) noexcept {
    end& e = sending_;
    if (e.capacity == 0) return 0;
    const bits word = e.word.lock();
    std::size_t number = 0;
    if ((word & (end::closed | end::waited_for)) == 0) [[likely]] {
      number = e.capacity - values(word, e.other);
      if (number < most) number = e.capacity - values(word, look(e, receiving_));
      number = std::min(number, most);
      for (std::size_t i = 0; i < number; ++i) put_here(from[i]);
    }
    e.word.unlock(end::beyond(word, number));
    return number;
  }
  /// Receives the oldest values at the receiving end alone, as many as it can, each by `store(T&&)`. Returns
  /// how many, as above.
  template <class F> std::size_t take_alone(std::size_t most, const F& store) noexcept {
    end& e = receiving_;
    if (e.capacity == 0) return 0;
    const bits word = e.word.lock();
    std::size_t number = 0;
    if ((word & end::waited_for) == 0) [[likely]] {
      number = values(e.other, word);
      if (number < most) number = values(look(e, sending_), word);
      number = std::min(number, most);
      for (std::size_t i = 0; i < number; ++i) {
        store(std::move(*e.here()));
        pop_front();
      }
    }
    e.word.unlock(end::beyond(word, number));
    return number;
  }
  bool put_alone(T& value) noexcept { return put_alone(&value, 1) != 0; }
  bool take_alone(std::optional<T>& value) noexcept {
    return take_alone(1, [&](T&& got) { value.emplace(std::move(got)); }) != 0;
  }

  outcome try_put(T& value) noexcept { return put_alone(value) ? outcome::done : put(value, nullptr); }
  outcome try_take(std::optional<T>& value) noexcept {
    return take_alone(value) ? outcome::done : take(value, nullptr);
  }

  /// Sends `value`, and moves from it if that is done. Otherwise `s` waits, if there is one and it was not
  /// stopped.
  outcome put(T& value, sender* s) noexcept {
    const auto [tail, head] = lock_both();
    const bool room = values(tail, head) != capacity();
    if (s != nullptr && s->part != nullptr) [[unlikely]]
      return join_race(*s, senders_, receivers_, room, tail, head);
    if ((tail & end::closed) != 0) {
      settle(s, detail::wait_state::stopped);
      return unlock_both(tail, head), outcome::closed;
    }
    detail::waiter* const r = receivers_.pop();
    if (r == nullptr && !room) {
      const outcome is = wait(senders_, s);
      return unlock_both(tail, head), is;
    }
    settle(s, detail::wait_state::granted);
    if (r == nullptr) {
      put_here(value);
      return unlock_both(tail + end::step, head), outcome::done;
    }
    unlock_both(tail, head);
    static_cast<receiver*>(r)->value.emplace(std::move(value));
    return r->wake(), outcome::done;
  }

  /// Moves the oldest value into `value`. If there is none, `r` waits, if there is one and it was not
  /// stopped.
  outcome take(std::optional<T>& value, receiver* r) noexcept {
    auto [tail, head] = lock_both();
    const bool direct = values(tail, head) == 0; // there is no room in between
    if (r != nullptr && r->part != nullptr) [[unlikely]]
      return join_race(*r, receivers_, senders_, !direct, tail, head);
    auto* const s = static_cast<sender*>(senders_.pop());
    if (s == nullptr && direct) {
      const outcome is = (tail & end::closed) != 0 ? outcome::closed : wait(receivers_, r);
      if (is == outcome::closed) settle(r, detail::wait_state::stopped);
      return unlock_both(tail, head), is;
    }
    settle(r, detail::wait_state::granted);
    if (!direct) {
      value.emplace(std::move(*receiving_.here()));
      pop_front();
      head += end::step;
      if (s != nullptr) {
        put_here(*s->value);
        tail += end::step;
      }
    }
    unlock_both(tail, head);
    if (direct) value.emplace(std::move(*s->value));
    if (s != nullptr) s->wake();
    return outcome::done;
  }

  /// Gives a value, which was received last, to the receiver that has waited longest, or puts it in front of
  /// all others. Returns false if there is no room, or no receiver may come any more.
  bool put_back(std::optional<T>& value) noexcept {
    auto [tail, head] = lock_both();
    detail::waiter* const r = receivers_.pop();
    const bool taken = r != nullptr || (values(tail, head) != capacity() && (tail & end::closed) == 0);
    if (r == nullptr && taken) {
      receiving_.go_back();
      std::construct_at(receiving_.here(), std::move(*value));
      head -= end::step;
    }
    unlock_both(tail, head);
    if (r != nullptr) {
      static_cast<receiver*>(r)->value.emplace(std::move(*value));
      r->wake();
    }
    if (taken) value.reset();
    return taken;
  }

  /// Puts a waiter that is in a race into its list, unless it need not wait. Releases the locks.
  [[gnu::noinline, gnu::cold]] outcome join_race(detail::waiter& w, detail::waiter_list& own,
                                                 const detail::waiter_list& facing, bool possible, bits tail,
                                                 bits head) noexcept {
    const detail::race_word& race = *w.part->race;
    const bool ready = (tail & end::closed) != 0 || possible || facing.has_other(race) ||
                       (w.part->both_sides && own.has_other(race));
    const outcome is = ready ? outcome::cannot : wait(own, &w);
    return unlock_both(tail, head), is;
  }
  static outcome wait(detail::waiter_list& list, detail::waiter* w) noexcept {
    if (w == nullptr || w->state == detail::wait_state::stopped) return outcome::cannot;
    return list.push(*w), outcome::waits;
  }
  bool leave(detail::waiter_list& list, detail::waiter& w) noexcept {
    const auto [tail, head] = lock_both();
    const bool was_in = list.stop(w);
    return unlock_both(tail, head), was_in;
  }

  void put_here(T& value) noexcept {
    std::construct_at(sending_.here(), std::move(value));
    sending_.go_on();
  }
  void pop_front() noexcept {
    std::destroy_at(receiving_.here());
    receiving_.go_on();
  }

  end sending_;
  // Both, and their marks in the other end's word, are changed under both locks. They keep the ends on lines of their own.
  detail::waiter_list senders_;   // only while there is no room, except for those whose race is over
  detail::waiter_list receivers_; // only while there is no value, as above
  [[maybe_unused]] std::byte apart_[32];
  end receiving_;
};

} // namespace corewise
