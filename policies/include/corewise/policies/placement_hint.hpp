#pragma once

#include <corewise/policies/any_duration.hpp>
#include <corewise/policies/task_class.hpp>
#include <corewise/policies/trace_id.hpp>
#include <corewise/topology/ids.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

namespace corewise {

/// The wishes of the submitter. Workers that fulfil all of it are preferred to all others; when no worker does,
/// or none that is available, the hint is as good as absent. Policies know no addresses, classes or deadlines.
/// The engine turns an address into a node. For a task with a class only the domain of the policy's answer
/// counts. A deadline, a name, an id and being a daemon do not change where a task goes.
struct placement_hint {
  std::optional<group_id> group = {};
  std::optional<std::uint32_t> package = {}; ///< index into `topology::packages()`
  std::optional<std::uint32_t> node = {};    ///< index into `topology::nodes()`
  std::optional<worker_id> worker = {};
  std::optional<std::uint32_t> kind = {}; ///< index into `topology::kinds()`
  /// An address whose memory node is wanted, unless `node` says which. Null, not mapped, not touched yet, or
  /// on a machine with one node: no wish. On a node without workers: the nearest with workers, by SLIT
  /// distance.
  const void* address = nullptr;
  task_class run_as = task_class::normal;
  /// The engine drops the task when its turn comes, if it has not begun by then. `from_now(d)` is a deadline
  /// that does not overflow.
  any_moment deadline = no_deadline;
  /// The name of the task for people: a text that lives as long as the program. Null: no name.
  const char* name = nullptr;
  trace_id id = {};    ///< of the request for which it works
  bool daemon = false; ///< `drain` does not wait for the task, and `limits.in_flight` does not count it

  [[gnu::visibility("hidden")]] static constexpr any_moment no_deadline =
      std::chrono::steady_clock::time_point::max();

  /// Returns whether the hint names no place.
  bool empty() const noexcept { return !group && !package && !node && !worker && !kind; }
  /// Returns whether the hint wishes nothing of where and as what the task runs.
  bool plain() const noexcept { return empty() && address == nullptr && run_as == task_class::normal; }
  /// Returns whether the hint says what the task is called or for which request it works.
  bool labelled() const noexcept { return (reinterpret_cast<std::uintptr_t>(name) | id.high | id.low) != 0; }
};

} // namespace corewise
