#pragma once

#include <corewise/engine/suspended.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace corewise {

/// Whether an engine does its work.
enum class health_state : std::uint8_t {
  ok,
  degraded, ///< it works, but some of its workers do not
  /// Tasks wait, every worker stands in a task that does not end, or lacks a spare thread, and no task has begun for
  /// a second.
  wedged,
  ended, ///< it shuts down, or this process is a process fork of the one that made it
};
std::string_view to_string(health_state state) noexcept;

/// The answer to a watchdog. A task that has run for `blocking.stuck_after` outside `blocking` counts as one
/// that does not end; where that is `never`, none does.
struct health_report {
  static constexpr std::size_t most_socket_waits = 3;

  health_state state = health_state::ok;
  std::vector<std::string>
      why; ///< a sentence for each trouble; empty if `ok`, and in the child of a process fork
  /// The waits for sockets in groups of which every worker stands or lacks a spare thread: only workers of other groups
  /// serve these sockets then. Those that have waited longest come first, at most `most_socket_waits` of a group. Has
  /// addresses of peers.
  std::vector<socket_wait> socket_waits;

  bool ok() const noexcept { return state == health_state::ok; }
};

} // namespace corewise
