#pragma once

#include <corewise/engine/detail/timer_node.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

// Timers by deadline: a hierarchical wheel. Time is counted in ticks of 2^16 ns. A bucket of level 0 is one
// tick; a bucket of each further level is 64 buckets of the level below.
//
//     level   0      1       2      3      4      5       6      7
//     bucket  66 us  4.2 ms  268 ms 17 s   18 min 20 h    52 d   9 a
//
// A timer lies at the level of the highest bit in which its tick differs from `elapsed`, the time up to which
// the wheel has turned. So all timers of a level are earlier than all timers of the levels above, the used
// buckets of each level lie behind its present bucket, and nothing ever wraps around: eight levels reach as
// far as the clock does. Setting and removing a timer is a list operation. Each timer moves down at most
// seven times. The bitmaps skip empty buckets, so a jump of the clock costs no more than the timers that it
// makes expire.
//
// The wheel rounds a deadline up to a tick and the present down, so no timer fires early.
//
// The wheel knows no clock and no lock: timer_group.hpp has both.
//
// Rejected: a heap or a tree (O(log n), and no removal by address without a second link); a wheel without
// cascades, as in Linux (far timers fire late by up to an eighth); ticks of 1 ms (a sleep of 100 us would
// take ten times that).
//
// Source: Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", doi:10.1145/41457.37504; the level by
// exclusive or is Tokio's.

namespace corewise::detail {

class timer_wheel {
 public:
  using tick = std::uint64_t;
  static constexpr unsigned tick_bits = 16; ///< of nanoseconds
  static constexpr tick never = ~tick{0};

  /// The first tick at whose beginning a deadline has passed.
  static constexpr tick after(std::int64_t deadline_ns) noexcept {
    if (deadline_ns <= 0) return 0;
    return (static_cast<std::uint64_t>(deadline_ns) + (tick{1} << tick_bits) - 1) >> tick_bits;
  }
  /// The tick that contains a moment.
  static constexpr tick at(std::int64_t ns) noexcept {
    return ns <= 0 ? 0 : static_cast<std::uint64_t>(ns) >> tick_bits;
  }

  timer_wheel() noexcept {
    for (timer_link& head : heads_) head.next = head.previous = &head;
  }
  timer_wheel(const timer_wheel&) = delete;
  timer_wheel& operator=(const timer_wheel&) = delete;

  std::size_t size() const noexcept { return size_; }
  bool any_due() const noexcept { return !empty(due()); }

  /// A lower bound of the tick at which there will be work: 0 if there is work now, `never` if there is no
  /// timer.
  tick next() const noexcept {
    if (any_due() || !empty(moving())) return 0;
    for (unsigned level = 0; level < levels; ++level)
      if (used_[level] != 0) return start_of(level, first_bucket(level));
    return never;
  }

  /// Inserts a timer. `now` may be any tick up to the present; a later one saves the wheel some turning.
  void insert(timer_node& t, tick now) noexcept {
    if (now > elapsed_ && now < next()) elapsed_ = now; // no used bucket lies between
    ++size_;
    place(t);
  }

  /// Removes `t`, which must be in the wheel.
  void remove(timer_node& t) noexcept {
    unlink(t);
    --size_;
    if (t.next == t.previous) note_empty(t.next); // only the head is left
  }

  /// Expires the timers whose deadlines are at `now` or before. Moves at most `most` timers. Returns false if
  /// there are more.
  bool advance(tick now, std::size_t most) noexcept {
    for (;;) {
      while (!empty(moving())) {
        if (most-- == 0) return false;
        timer_link* t = moving().next;
        unlink(*t);
        place(static_cast<timer_node&>(*t));
      }
      if (!turn(now)) break;
    }
    if (now > elapsed_) elapsed_ = now;
    return true;
  }

  /// Takes the timer that expired first out of the wheel, or returns null if none has expired.
  timer_node* pop_due() noexcept {
    if (empty(due())) return nullptr;
    timer_link* t = due().next;
    unlink(*t);
    --size_;
    return static_cast<timer_node*>(t);
  }

  /// Takes any timer out of the wheel, or returns null if there is none.
  timer_node* pop_any() noexcept {
    if (timer_node* t = pop_due()) return t;
    timer_link* head = &moving();
    for (unsigned level = 0; level < levels && empty(*head); ++level)
      if (used_[level] != 0) head = &heads_[level * buckets + first_bucket(level)];
    if (empty(*head)) return nullptr;
    auto* t = static_cast<timer_node*>(head->next);
    remove(*t);
    return t;
  }

 private:
  friend struct debugger_layouts;

  static constexpr unsigned levels = 8;
  static constexpr unsigned bucket_bits = 6;
  static constexpr std::size_t buckets = std::size_t{1} << bucket_bits;

  static bool empty(const timer_link& head) noexcept { return head.next == &head; }
  static void append(timer_link& head, timer_link& t) noexcept {
    t.next = &head;
    t.previous = head.previous;
    head.previous->next = &t;
    head.previous = &t;
  }
  static void unlink(timer_link& t) noexcept {
    t.previous->next = t.next;
    t.next->previous = t.previous;
  }
  /// Appends all of `from` to `to`.
  static void splice(timer_link& to, timer_link& from) noexcept {
    if (empty(from)) return;
    from.next->previous = to.previous;
    to.previous->next = from.next;
    from.previous->next = &to;
    to.previous = from.previous;
    from.next = from.previous = &from;
  }

  timer_link& due() noexcept { return heads_[levels * buckets]; }
  const timer_link& due() const noexcept { return heads_[levels * buckets]; }
  /// The timers that have left a bucket and are moving to lower ones.
  timer_link& moving() noexcept { return heads_[levels * buckets + 1]; }
  const timer_link& moving() const noexcept { return heads_[levels * buckets + 1]; }

  std::size_t first_bucket(unsigned level) const noexcept {
    return static_cast<std::size_t>(std::countr_zero(used_[level]));
  }
  tick start_of(unsigned level, std::size_t bucket) const noexcept {
    const unsigned shift = level * bucket_bits;
    const tick above = elapsed_ >> (shift + bucket_bits) << (shift + bucket_bits);
    return above | static_cast<tick>(bucket) << shift;
  }

  void place(timer_node& t) noexcept {
    const tick when = after(t.deadline_ns);
    if (when <= elapsed_) return append(due(), t);
    const auto highest = static_cast<unsigned>(std::bit_width(when ^ elapsed_)) - 1;
    const unsigned level = highest / bucket_bits;
    const std::size_t bucket = (when >> (level * bucket_bits)) % buckets;
    used_[level] |= std::uint64_t{1} << bucket;
    append(heads_[level * buckets + bucket], t);
  }

  void note_empty(const timer_link* head) noexcept {
    const auto index = static_cast<std::size_t>(head - heads_.data());
    if (index < levels * buckets) used_[index / buckets] &= ~(std::uint64_t{1} << (index % buckets));
  }

  /// Empties the earliest used bucket, if it begins by `now`. Returns whether it did.
  bool turn(tick now) noexcept {
    for (unsigned level = 0; level < levels; ++level) {
      if (used_[level] == 0) continue;
      const std::size_t bucket = first_bucket(level);
      const tick start = start_of(level, bucket);
      if (start > now) return false;
      elapsed_ = start;
      used_[level] &= used_[level] - 1;
      splice(level == 0 ? due() : moving(), heads_[level * buckets + bucket]);
      return true;
    }
    return false;
  }

  tick elapsed_ = 0;
  std::size_t size_ = 0;
  std::array<std::uint64_t, levels> used_{};
  std::array<timer_link, levels * buckets + 2> heads_;
};

} // namespace corewise::detail
