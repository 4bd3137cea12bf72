#pragma once

#include "event_queue.hpp"
#include "time_limit.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace corewise::detail {

/// An event that will happen.
struct planned_event {
  enum class kind : std::uint8_t {
    arrival,
    task_ends,
    woken,
    look,
    spun,
    slot_aged,
    client_submits,
    root_comes
  } what;
  std::uint32_t index = 0; ///< of the worker, or of the client
  /// Of `look` and `spun` the worker's generation, of `slot_aged` the number of tasks that were ever put into
  /// the slot. The event is void when the number has changed.
  std::uint32_t generation = 0;
};

/// The time of a simulation, and the events that are planned.
class simulated_clock {
 public:
  using entry = event_queue<planned_event>::entry;

  std::int64_t now_ns() const noexcept { return now_ns_; }

  /// Plans an event after a time. Events beyond the latest time are planned for it; the run stops there.
  void plan(double after_ns, const planned_event& e) { plan(whole(after_ns), e); }
  void plan(std::chrono::nanoseconds after, const planned_event& e) {
    events_.push(now_ns_ + std::min(after.count(), latest_time_ns - now_ns_), e);
  }
  void plan_now(const planned_event& e) { events_.push(now_ns_, e); }
  /// Plans an event for a time; at once, if the time is over.
  void plan_at(std::int64_t time_ns, const planned_event& e) { events_.push(std::max(time_ns, now_ns_), e); }

  bool nothing_planned() const noexcept { return events_.empty(); }
  /// Takes the next event out. The time is still that of the last one.
  entry take_next() { return events_.pop(); }
  void move_to(std::int64_t time_ns) noexcept { now_ns_ = time_ns; }

 private:
  static std::chrono::nanoseconds whole(double ns) noexcept {
    constexpr auto most = static_cast<double>(latest_time_ns);
    return std::chrono::nanoseconds(ns < most ? static_cast<std::int64_t>(ns) : latest_time_ns);
  }

  event_queue<planned_event> events_;
  std::int64_t now_ns_ = 0;
};

} // namespace corewise::detail
