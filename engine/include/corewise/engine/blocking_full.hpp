#pragma once

#include <stdexcept>

namespace corewise {

/// The exception of a `blocking` call that finds `blocking.max_concurrent` calls running, where
/// `blocking.on_full` is `throw`, or that waits for them when a reload sets that. The function has not been called.
class blocking_full : public std::runtime_error {
 public:
  blocking_full() : std::runtime_error("`blocking.max_concurrent` calls run already") {}
};

} // namespace corewise
