#pragma once

#include <corewise/policies/trace_id.hpp>

// The name and the id of the calling task. They hold in the hooks, too: the task of which `on_exception` and
// the log tell calls them.

namespace corewise::this_task {

/// Returns `hint::name` of the calling task, or of the one whose child it is; null if it has none, and
/// outside of tasks. Cost: that of `task_local::get`.
const char* name() noexcept;

/// Returns `hint::id` in the same way: all zero if there is none. A task that the caller submits for the same
/// request gets it by `{.id = corewise::this_task::id()}`.
trace_id id() noexcept;

} // namespace corewise::this_task
