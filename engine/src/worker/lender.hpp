#pragma once

#include "base/task_clock.hpp"
#include "worker/seat_generation.hpp"

#include <corewise/policies/detail/atomic.hpp>

namespace corewise::detail {

/// Says which thread sits on a seat: its own, which lends it for blocking calls, a spare one, or none any more.
/// It expects by the calls that it has timed how long the next one takes.
class lender {
 public:
  /// Notes that a call begins. Call from the seat's thread.
  void begin_call() noexcept {
    const bool timed = calls_are_long_ || ++short_calls_ % calls_to_timed == 0;
    began_ = timed ? monotonic::now() : monotonic::time_point{};
  }
  /// Returns whether the call that was timed last was a long one. Call from the seat's thread.
  bool expects_long_call() const noexcept { return calls_are_long_; }
  /// Lends the seat. Returns the lending's generation. Call from the seat's thread, which then touches the
  /// seat no more.
  std::uint64_t lend() noexcept { return generation_.lend(); }

  /// Returns whether the seat is the lender's own again. Call from the thread that lent it.
  bool regain(std::uint64_t lending) noexcept { return generation_.regain(lending); }
  /// Notes that a call has ended. Call from the thread that has regained the seat.
  void end_call() noexcept {
    if (began_ != monotonic::time_point{}) calls_are_long_ = monotonic::now() - began_ >= long_call;
  }
  /// Takes the seat for a spare thread. Returns whether it is the caller's. Call from any thread.
  bool take(std::uint64_t lending) noexcept {
    if (!generation_.take(lending)) return false;
    calls_are_long_ = true;
    return true;
  }

  /// Notes that the seat's thread leaves for good; its last call here. Call also from a thread that knows that
  /// the seat has none.
  void note_left() noexcept { left_.store(true, std::memory_order_release); } // pairs: left
  /// Returns whether the engine has ended and no thread will sit here any more. Call from any thread.
  bool has_left() const noexcept { return left_.load(std::memory_order_acquire); } // pairs: left

  /// Returns whether a thread sits on the seat. Call from any thread.
  bool held() const noexcept { return generation_.held(); }
  /// Returns the lending that is under way, or nothing while the seat is held. Call from any thread.
  std::optional<std::uint64_t> lending() const noexcept { return generation_.lending(); }

 private:
  /// A blocking call of this length costs the others more than a spare thread does.
  static constexpr std::chrono::microseconds long_call{20};
  /// One in so many short calls is timed.
  static constexpr std::uint32_t calls_to_timed = 8;

  seat_generation generation_;
  bool calls_are_long_ = false;
  atomic<bool> left_{false}; // publishes what only the seat's thread may touch of an unbounded inbox
  std::uint32_t short_calls_ = 0;
  monotonic::time_point began_; // of the call that is timed, or the epoch
};

} // namespace corewise::detail
