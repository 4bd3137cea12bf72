#pragma once

#include "finish_line.hpp"

#include <corewise/engine/engine.hpp>

#include <cstdint>
#include <span>
#include <string_view>

// Four workloads that pull a scheduler in four directions; a scheduler that gives an axis away shows it here.
// `ping_pong` is there with both forms of a oneshot.
// They are those of Tokio's multi-threaded benchmark. A *pass* posts its roots from outside, one by one, and
// ends when the last task of the pass has signalled, so it contains waking the pool and waking the waiter.

namespace corewise::command {

struct axis {
  std::string_view name;
  std::string_view description;
  std::uint64_t ops;                        ///< operations of a pass; the figure is the time of one
  std::uint64_t (*pass)(corewise::engine&); ///< returns how many operations it has seen done
  bool each_is_a_task = false;              ///< an operation is a task: as many must have run, not one twice
};

extern const axis ping_pong;
extern const axis ping_pong_halves;
extern const axis chained_fork;
extern const axis fork_many;
extern const axis yield_many;

/// Submits to an engine that accepts everything: the workloads bound themselves.
template <class Task> void post(corewise::engine& e, Task&& t) {
  if (e.submit(std::forward<Task>(t)) != submit_result::accepted) std::terminate();
}

} // namespace corewise::command
