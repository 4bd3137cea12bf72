#pragma once

#include <corewise/policies/detail/atomic.hpp>

#include <cstdint>

namespace corewise::detail {

/// A function that a thread calls at its end. Unlike the destructor of a thread-local object, this does not keep a module
/// of `dlopen` from being unloaded as long as the thread lives. A thread that is there at the unloading, or
/// at `exit`, does nothing. Make it a static object.
///
/// | tag  | release site | acquire site   | publishes | weakened                     |
/// |------|--------------|----------------|-----------|------------------------------|
/// | made | note: CAS    | note: load     | the key   | (the system orders its keys) |
class thread_end {
 public:
  /// `act` must not throw, and must do nothing on a thread that has not called `note`: in the child of a
  /// process fork glibc gives new threads the stacks of its parent's, and may leave their keys set.
  constexpr explicit thread_end(void (*act)()) noexcept : act_(act) {}
  thread_end(const thread_end&) = delete;
  thread_end& operator=(const thread_end&) = delete;
  ~thread_end();

  /// Lets the calling thread call `act` at its end, after the destructors of its thread-local objects.
  /// Returns false if the process has too many keys. Cost: some ns; the first time, a key of the process.
  bool note() noexcept;

 private:
  void (*act_)();
  atomic<std::uint64_t> key_{0}; // and 1
};

} // namespace corewise::detail
