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
/// If a task has not begun by its `deadline`, the engine drops it when its turn comes: it destroys the task
/// unrun, counts it (`worker_metrics::expired`), and calls the `on_expired` of `submit`. The task's future
/// throws `deadline_expired`. A task that has begun goes on. Cost: a block and a look at the clock, for such
/// tasks only.
///
/// A `name` and an `id` appear in the dump, in reports of stuck workers and of shutdowns, and in the log; the
/// task and its children (see `task_local`) get them by `this_task::name` and `this_task::id`. Cost: two
/// blocks and 370 instructions, for such tasks only.
///
/// A `daemon` lasts as long as the engine: it accepts connections, collects garbage, waits for a signal. No
/// `drain` waits for it and no limit counts it, but what it submits is counted as what other threads submit.
/// It should end when `engine::stop_token` asks for it. A shutdown asks when all other tasks have ended (or
/// its grace is over), and waits for daemons until its deadline. A daemon that goes to another engine
/// (`resume_on`) is an ordinary task there.
///
/// `schedule` ignores deadline, name, id and daemon.
using hint = placement_hint;

/// A hint without any wish.
[[gnu::visibility("hidden")]] inline constexpr hint no_hint{};

/// Returns a hint to run where the memory at `address` is, with the other wishes of `rest`. The engine asks
/// the kernel about the address, and never dereferences it. Cost: a system call, about 1 us, unless the
/// thread has asked about the page in the last 100 ms; none on a machine with one node. On a described
/// machine, not this one, it has no effect, and the engine warns once.
constexpr hint near(const void* address, hint rest = {}) noexcept {
  rest.address = address;
  return rest;
}

} // namespace corewise
