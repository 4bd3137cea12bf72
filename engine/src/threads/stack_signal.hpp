#pragma once

#include <sys/types.h>

#include <string>

namespace corewise::detail {

/// Asks threads of this process where they are, by a signal whose handler notes the addresses of its stack. For as long as
/// one lives, the process has a handler for that signal; all others that come with that number are passed to the handler
/// from before, which is put back in the end (docs/adr/0011). Engines may share a signal.
///
///     asker                                        thread that is asked, in the handler
///     ready ──► asked ──queue the signal······►    asked ──► writing ──backtrace──► written
///       ▲         └──no answer in time──► ready      (else: too late, nothing)         │
///       └───────────────────────────────────────────────────────────────────────────────┘
///
/// | tag   | release site           | acquire site          | publishes            | weakened                   |
/// |-------|------------------------|-----------------------|----------------------|----------------------------|
/// | asked | ask: store             | handler: CAS          | that the place is    | two stacks in one place    |
/// |       |                        |                       | free to be written   |                            |
/// | stack | handler: store         | ask: load             | the addresses        | a stack that is half there |
class stack_signal {
 public:
  /// Throws `std::system_error` when the system refuses.
  explicit stack_signal(int number);
  stack_signal(const stack_signal&) = delete;
  stack_signal& operator=(const stack_signal&) = delete;
  ~stack_signal();

  /// The stack of a thread of this process, innermost call first, a line for each; empty when it does not answer within
  /// 200 ms. Any thread but itself. May interrupt a system call of that thread. Throws `std::bad_alloc`.
  std::string stack_of(pid_t thread) const;

 private:
  int number_;
};

} // namespace corewise::detail
