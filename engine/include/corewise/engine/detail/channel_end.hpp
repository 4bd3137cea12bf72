#pragma once

#include <corewise/engine/detail/lock_word.hpp>

#include <cstddef>

// How senders and receivers of a channel pass each other.
//
// Invariant: values lie in the ring from the position of the receiving end up to, but not including, that of
// the sending end. No coroutine waits to receive while there is a value, and none to send while there is
// room.
//
//              receiving end            sending end
//                    ▼                       ▼
//     [       │   oldest  │  ...  │ newest │        ]
//
// Each end is a word: a lock, the position, whether the channel is closed, and whether coroutines wait at the
// *other* end. A thread that holds one end sends or receives alone if none waits at the other, and it has
// seen room, or a value. It remembers the position at which it saw the other end last, and looks again only
// when that is not enough. So senders and receivers touch each other's lines seldom. Everything else takes
// both ends, the sending one first: to wait, to wake, to close, to give a value back.
//
// The store that unlocks an end publishes its position, and each end sees of the other only what is
// published. A thread that holds both ends unlocks the sending one last. So a sender has left the channel
// when its value is received, and the receiver may destroy the channel.
//
// `tests/model/channel.pml` is the protocol, with its mutants.

namespace corewise::detail {

/// An end of a channel. Its data belongs to the thread that holds its lock.
template <class T> struct channel_end {
  using bits = lock_word::bits;
  static constexpr bits closed = lock_word::of(1, false);
  static constexpr bits waited_for = lock_word::of(0, true); ///< at the other end
  static constexpr bits step = lock_word::of(2, false);      ///< from a position to the next; wraps
  static constexpr std::size_t largest = (lock_word::largest >> 1);

  lock_word word{0};
  bits other = 0;        ///< the other end's word, as this one's holder saw it last
  std::size_t index = 0; ///< of its position in the ring
  /// Of the channel: at both ends, so that neither reads the other's line.
  std::size_t capacity;
  T* room;

  static bits beyond(bits word, std::size_t number) noexcept {
    return word + static_cast<bits>(number) * step;
  }
  /// Returns how many positions are from one word to another.
  static std::size_t distance(bits from, bits to) noexcept { return ((to & -step) - (from & -step)) / step; }
  T* here() noexcept { return room + index; }
  void go_on() noexcept {
    if (++index == capacity) index = 0;
  }
  void go_back() noexcept { index = (index == 0 ? capacity : index) - 1; }
};

} // namespace corewise::detail
