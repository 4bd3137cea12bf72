#pragma once

#include <sys/types.h>

#include <string>

namespace corewise::detail {

/// Asks threads of this process where they are. It sends a signal, and the handler of the signal notes the
/// addresses of the thread's stack. The process has our handler for that signal as long as one `stack_signal`
/// lives. Our handler passes all other signals of that number to the handler from before. The last
/// `stack_signal` puts the handler from before back (docs/adr/0011). Engines may share a signal. Where other
/// code sets the signal to its default, or ignores it, that stays so until a next first `stack_signal`.
///
///     asker                                        asked thread, in the handler
///     ready ──► asked ──queue the signal······►    asked ──► writing ──backtrace──► written
///       ▲         └──no answer in time──► ready      (else: too late, nothing)         │
///       └───────────────────────────────────────────────────────────────────────────────┘
///
/// | tag   | release site   | acquire site | publishes          | weakened                   |
/// |-------|----------------|--------------|--------------------|----------------------------|
/// | asked | ask: store     | handler: CAS | that the place is  | two stacks in one place    |
/// |       |                |              | free to be written |                            |
/// | stack | handler: store | ask: load    | the addresses      | a stack that is half there |
class stack_signal {
 public:
  /// Installs the handler for the signal `number`. Throws `std::system_error` when the system refuses.
  explicit stack_signal(int number);
  stack_signal(const stack_signal&) = delete;
  stack_signal& operator=(const stack_signal&) = delete;
  ~stack_signal();

  /// Asks a thread of this process for its stack. The call may interrupt a system call of that thread.
  /// Returns a line for each call, the innermost first; returns an empty string when the thread does not
  /// answer within 200 ms, or when the signal was set to its default or is ignored. Throws `std::bad_alloc`.
  /// Call from any thread but the asked one.
  std::string stack_of(pid_t thread) const;

 private:
  int number_;
};

} // namespace corewise::detail
