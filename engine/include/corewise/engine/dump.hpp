#pragma once

#include <corewise/engine/suspended.hpp>
#include <corewise/policies/trace_id.hpp>
#include <corewise/policies/worker_load.hpp>
#include <corewise/topology/ids.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace corewise {

/// The state of a seat.
enum class seat_state : std::uint8_t {
  running,   ///< runs a task
  blocking,  ///< its task is in a blocking call, and no spare thread has come for the seat
  searching, ///< awake, and looks for work
  parked,    ///< asleep
  between,   ///< between two tasks
  retired,   ///< asleep, or about to be, until a profile asks for more workers or the host allows more
};
std::string_view to_string(seat_state state) noexcept;

/// One seat at the moment when `dump` looked at it.
struct seat_dump {
  worker_id worker;
  group_id group;
  seat_state state = seat_state::between;
  worker_load load;
  std::uint32_t ring_depth = 0;  ///< tasks in its ring
  std::uint32_t inbox_depth = 0; ///< tasks in its inbox
  std::uint32_t fork_depth = 0;  ///< tasks in its deque of forks
  /// The kind of the task that it runs: the type of the closure, the function of the coroutine, `parallel
  /// loop` and so on (`coroutine` where that is unknown, because the system does not let this process read its own
  /// memory, or because the coroutine is about to end). Where the program is stripped, the function is `FILE+0x1234`,
  /// for `addr2line`. Empty: it runs none.
  std::string task_kind;
  std::string task_name; ///< `hint::name` of that task
  trace_id task_id;      ///< and `hint::id`
  /// For how long it has run that task, at most: a worker reads the clock every few tasks, not for each.
  std::optional<std::chrono::nanoseconds> task_age;
  bool stuck = false; ///< that task has run for `blocking.stuck_after` or more
};

/// Tasks that wait in the class queues of one domain.
struct class_depths {
  std::uint32_t latency = 0;
  std::uint32_t background = 0;
};

/// The present state of an engine, for people who look at a daemon that stands still. Everything is read from
/// words that workers write anyway, never from a task; only what waits for sockets is kept for dumps. The seats
/// are looked at one after another while their workers go on.
struct engine_dump {
  static constexpr std::size_t most_socket_waits = 64; ///< of a group, in `socket_waits`

  std::vector<seat_dump> seats; ///< by worker id
  /// By group. Where all groups share one queue, its tasks count for the first.
  std::vector<std::uint32_t> injection_depths;
  std::vector<class_depths> class_queues; ///< by domain
  std::vector<suspended_in> suspended;    ///< by kind of wait; kinds without waiters are absent
  /// By group; those that have waited longest come first, at most `most_socket_waits` of a group.
  std::vector<socket_wait> socket_waits;
  std::uint64_t in_flight = 0; ///< accepted and not finished, suspended ones included
  std::uint64_t spare_threads = 0;
  std::uint64_t tasks_waiting_for_a_seat = 0; ///< as in `metrics_snapshot`, and so the next two
  std::uint64_t blocking_calls_running = 0;
  std::uint64_t blocking_calls_waiting = 0;
  std::uint64_t machine_changes = 0; ///< times that the host, or measured speeds, have changed
  std::string last_machine_change;   ///< what changed then, and what it led to; empty: nothing has

  std::string to_text() const; ///< throws `std::bad_alloc`, as `to_json` does
  std::string to_json() const;
};

} // namespace corewise
