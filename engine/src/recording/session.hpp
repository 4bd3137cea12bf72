#pragma once

#include "recording/event_clock.hpp"
#include "recording/recording.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace corewise::detail {

/// Keeps threads recording while it lives, so that the rings hold what happened last.
class flight_recorder {
 public:
  /// Returns the clocks when it began.
  event_clock::reading since() const noexcept { return since_; }

 private:
  event_reader reading_;
  event_clock::reading since_ = event_clock::read();
};

/// Copies the events of one engine from all threads. One thread at a time.
class recording_session {
 public:
  /// The events of one ring, in order.
  struct track {
    const thread_ring* ring;
    std::uint64_t next = 0; // the first event that was not copied yet
    std::vector<event_ring::event> events = {};
  };

  /// Begins now, and keeps `most` events. Throws `std::bad_alloc`.
  recording_session(engine_number of, std::size_t most);
  /// Begins with what the rings hold, and keeps all of it. `since`: the clocks when something began to record.
  recording_session(engine_number of, event_clock::reading since) noexcept;

  /// Copies what is new. Returns whether there was so much that the next call should come at once. Throws
  /// `std::bad_alloc`.
  bool collect();
  bool full() const noexcept { return size_ >= most_; }

  engine_number of() const noexcept { return of_; }
  const std::vector<track>& tracks() const noexcept { return tracks_; }
  /// Returns how many events were written over before they were copied, of whichever engine, in threads that have
  /// recorded for this one. Events that came after the session was full do not count.
  std::uint64_t lost() const noexcept { return lost_; }
  /// Returns the monotonic time of an event.
  std::int64_t monotonic_ns(std::uint64_t ticks) const noexcept;

 private:
  void find_rings();

  const engine_number of_;
  event_reader reading_;
  event_clock::reading begin_;
  event_clock::reading end_;
  const std::size_t most_;
  const bool begins_with_rings_ = false;
  std::size_t size_ = 0;
  std::uint64_t lost_ = 0;
  std::vector<track> tracks_; // from the oldest ring on
};

} // namespace corewise::detail
