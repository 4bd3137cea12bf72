#pragma once

#include <corewise/engine/hint.hpp>
#include <corewise/engine/suspended.hpp>
#include <corewise/topology/ids.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace corewise {

/// The tasks and coroutines that a shutdown left behind.
struct shutdown_report {
  struct running_task {
    worker_id worker;
    std::chrono::nanoseconds since; ///< how long the worker has been busy without a pause
    std::string task_kind = {};     ///< as in `seat_dump`
    std::string task_name = {};
    trace_id task_id = {};
  };
  /// Tasks that had not ended at the deadline; their threads go on until they do. A thread that had none, and has not
  /// left 5 s later (a hook, no CPU), is here without a kind.
  std::vector<running_task> running;
  /// The coroutines that waited for an event, a value and so on at the end, by kind of wait.
  std::vector<suspended_in> suspended;
  /// The number of tasks that were destroyed before their end: the queued and sleeping ones and, unless tasks
  /// still run, the suspended ones. A task that still runs might wake these, so they are destroyed when the
  /// last such task has ended.
  std::uint64_t dropped = 0;
  /// The coroutines, of those above, that were neither resumed nor destroyed, by kind of wait: each waits for
  /// something into which another thread will write, a one-piece `oneshot`. Such a coroutine and all that
  /// await it are kept for ever. Empty while tasks still run, as above.
  std::vector<suspended_in> kept;

  bool clean() const noexcept { return running.empty() && suspended.empty() && dropped == 0; }
};

} // namespace corewise
