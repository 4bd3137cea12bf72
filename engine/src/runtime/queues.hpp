#pragma once

#include "inbox.hpp"
#include "injection_queue.hpp"
#include "local_queue.hpp"

namespace corewise::detail {

/// The queues of one worker. They stay where they are for the life of the engine, whoever sits on the seat.
struct worker_queues {
  local_queue ring;
  inbox in;

  /// Whether somebody could take a task now.
  bool ready() const noexcept { return in.ready() || ring.size() != 0; }
  /// Tasks that wait. Exact at rest.
  std::uint32_t waiting() const noexcept { return ring.size() + in.size(); }
  /// Tasks that were ever taken out, modulo 2^32.
  std::uint32_t taken() const noexcept { return ring.taken() + in.taken(); }
};

} // namespace corewise::detail
