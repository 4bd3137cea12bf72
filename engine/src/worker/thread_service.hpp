#pragma once

#include <cstdint>

namespace corewise::detail {

class worker;

/// The requests of seats to the engine's threads, which are above them: the room `threads` implements it.
class thread_service {
 public:
  /// Calls a spare thread to a seat that was lent. Returns false if there is none, and none may be made. Call
  /// from any thread. Cost: a lock and a system call; 20 to 50 us if a thread is made.
  virtual bool offer(worker& seat, std::uint64_t lending) noexcept = 0;
  /// Has the supervisor look at lent seats: this thread has just lent one. Returns false if there is no
  /// supervisor and cannot be one, so that the caller must offer the seat itself. Cost: a load; after a while
  /// without lendings a system call.
  virtual bool attend() noexcept = 0;
  /// Tells the supervisor that a worker goes to work after a sleep. Cost: a fence and a load; a system call
  /// if all workers have been idle for long.
  virtual void note_awake() noexcept = 0;

 protected:
  ~thread_service() = default;
};

} // namespace corewise::detail
