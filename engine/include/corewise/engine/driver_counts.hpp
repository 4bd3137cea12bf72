#pragma once

#include <cstdint>

namespace corewise {

/// The numbers of a group's driver, or the sums of several.
struct driver_counts {
  std::uint64_t operations = 0; ///< that wait for events now
  std::uint64_t polls = 0;      ///< looks of workers for events
  std::uint64_t events =
      0;                  ///< that they have found; each wake-up of a worker that sleeps in the driver is one
  std::uint64_t open = 0; ///< connections of listeners whose handlers have not ended
  std::uint64_t accepted = 0; ///< connections given to handlers
  std::uint64_t refused = 0;  ///< connections closed without one

  driver_counts& operator+=(const driver_counts& other) noexcept {
    operations += other.operations;
    polls += other.polls;
    events += other.events;
    open += other.open;
    accepted += other.accepted;
    refused += other.refused;
    return *this;
  }
};

} // namespace corewise
