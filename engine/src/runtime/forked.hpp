#pragma once

namespace corewise::detail {

/// How many forks lie between the first process that made an engine and this one. A forked child has the
/// memory of its parent's engines but none of their threads. One load.
unsigned fork_generation() noexcept;

} // namespace corewise::detail
