#pragma once

#include <corewise/engine/driver_counts.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/io/executor.hpp>

#include <memory>
#include <vector>

namespace corewise::io {

/// Sockets, timers and signals for the tasks of an engine: each locality group has an `io_context` of its own,
/// in which its workers look, and in which one of them sleeps. There is no thread for I/O.
///
///     corewise::engine e;
///     corewise::io::service io(e);
///     corewise::io::tcp_stream peer(io.local());
///
/// An engine has one service at most. The contexts behind it live as long as the engine, so the service
/// itself may be destroyed earlier.
class service {
 public:
  /// Throws `system_error` where the system refuses epoll, an eventfd or a timerfd; `std::logic_error` if the
  /// engine has a service, or shuts down.
  explicit service(engine& e);

  /// Returns the executor of the group of the calling task's worker; outside of tasks, of the nearest group.
  /// Call from any thread.
  executor local() const noexcept;
  /// Returns the executor of a group; where it has no workers, that of the nearest group that has. Throws
  /// `std::out_of_range`.
  executor of(group_id g) const;

  engine& on() const noexcept { return engine_; }
  using counts = driver_counts;
  /// Return the sums over all groups, and the numbers of one. Call from any thread.
  counts count() const noexcept;
  counts count(group_id g) const;
  std::uint64_t operations() const noexcept { return count().operations; }

 private:
  engine& engine_;
  std::vector<std::shared_ptr<detail::group_context>> contexts_; // by group; of groups without workers: null
};

} // namespace corewise::io
