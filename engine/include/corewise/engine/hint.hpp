#pragma once

#include <corewise/policies/policy.hpp>

namespace corewise {

/// What a submitter wishes about where a task runs (a group, package, node, kind or worker, the node of an address),
/// and of which class it is (D11). All wishes together: `hint{.node = 1, .run_as = task_class::latency}`.
///
/// A coroutine keeps its class when it yields and when it is resumed. Tasks of the classes `latency` and `background`
/// are their domain's: any worker of the domain that the rest of the hint leads to may run them.
///
/// A task with a `deadline` that has not begun by then is dropped when its turn comes: it is destroyed unrun and counted
/// (`worker_metrics::expired`), its future throws `deadline_expired`, and what `submit` was given for that is called in its
/// place. One that has begun goes on; `schedule` has no use for it. Cost: a block and a look at the clock, for such tasks only.
using hint = placement_hint;

/// No wish at all.
inline constexpr hint no_hint{};

/// A hint: where the memory at `address` is, and the rest as it is. The address is only asked about, never followed. Cost:
/// a system call, about 1 us, unless the thread has asked about the page in the last 100 ms; none on a machine with one
/// node. On a machine that is described, not this one, it has no effect, and the engine warns once.
constexpr hint near(const void* address, hint rest = {}) noexcept {
  rest.address = address;
  return rest;
}

} // namespace corewise
