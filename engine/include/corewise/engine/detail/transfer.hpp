#pragma once

#include <corewise/engine/detail/execution.hpp>

#include <utility>

// How one coroutine gives the thread to another. Where the compiler makes a tail call of that, any number of
// transfers may follow one another. Clang always does; GCC before 15 only with -O2 and without a sanitizer,
// which a header cannot know. There the transfers are counted. Every so often the stack is unwound to the
// function that began, which goes on. In a task, beneath a coroutine of another type (`nested`), none is counted: what
// began may be a `resume` of the user's own, which must not return before the coroutine has come to its next stop.

namespace corewise::detail {

#if defined(__clang__) || !defined(__GNUC__) || __GNUC__ >= 15

inline std::coroutine_handle<> transfer_to(std::coroutine_handle<> next) noexcept { return next; }

/// While it lives, a call runs that is no coroutine: one that it resumes by hand must not be left early.
struct uncounted_transfers {
  uncounted_transfers() noexcept {}
};

inline void drive(std::coroutine_handle<> frame) { frame.resume(); }

#else

/// Returns what `await_suspend` must return to give the thread to `next`.
inline std::coroutine_handle<> transfer_to(std::coroutine_handle<> next) noexcept {
  execution& here = this_execution;
  if (--here.transfers_left != 0) [[likely]]
    return next;
  here.transferred = next;
  return std::noop_coroutine();
}

/// While it lives, a call runs that is no coroutine: one that it resumes by hand must not be left early.
class uncounted_transfers {
 public:
  uncounted_transfers() noexcept : left_(std::exchange(this_execution.transfers_left, 0)) {}
  uncounted_transfers(const uncounted_transfers&) = delete;
  uncounted_transfers& operator=(const uncounted_transfers&) = delete;
  ~uncounted_transfers() { this_execution.transfers_left = left_; }

 private:
  const std::uint64_t left_;
};

/// Resumes `frame` and all that it gives the thread to.
inline void drive(std::coroutine_handle<> frame) {
  constexpr std::uint64_t nested_max = 64;
  execution& here = this_execution;
  struct outer {
    execution& here;
    std::uint64_t left;
    ~outer() { here.transfers_left = left; }
  } const restored{here, std::exchange(here.transfers_left, nested_max)};
  frame.resume();
  while (here.transferred) {
    here.transfers_left = nested_max;
    std::exchange(here.transferred, {}).resume();
  }
}

#endif

/// Does what `transfer_to` does, where a coroutine of another type awaits, or may: no transfer is counted then.
inline std::coroutine_handle<> transfer_beneath(bool nested, std::coroutine_handle<> next) noexcept {
  return nested && this_execution.root != nullptr ? next : transfer_to(next);
}

} // namespace corewise::detail
