#pragma once

#include <corewise/policies/placement_hint.hpp>

namespace corewise {

/// A submitter's wishes about where a task runs (a group, package, node, kind or worker, the node of an
/// address), and of which class it is (D11). All wishes together:
/// `hint{.node = 1, .run_as = task_class::latency}`.
///
/// A coroutine keeps its class when it yields and when it is resumed. Tasks of the classes `latency` and
/// `background` belong to their domain: the rest of the hint leads to a domain, and any worker of that domain
/// may run them.
///
/// A task with a `deadline` that has not begun by then is dropped when its turn comes: the engine destroys it
/// unrun and counts it (`worker_metrics::expired`), its future throws `deadline_expired`, and the engine
/// calls the `on_expired` that `submit` was given. A task that has begun goes on. `schedule` ignores a
/// deadline. Cost: a block and a look at the clock, for such tasks only.
using hint = placement_hint;

/// A hint without any wish.
inline constexpr hint no_hint{};

/// Returns a hint to run where the memory at `address` is, with the other wishes of `rest`. The engine asks
/// the kernel about the address, and never dereferences it. Cost: a system call, about 1 us, unless the
/// thread has asked about the page in the last 100 ms; none on a machine with one node. On a described
/// machine, not this one, it has no effect, and the engine warns once.
constexpr hint near(const void* address, hint rest = {}) noexcept {
  rest.address = address;
  return rest;
}

} // namespace corewise
