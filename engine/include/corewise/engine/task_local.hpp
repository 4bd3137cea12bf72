#pragma once

#include <corewise/engine/detail/bound_values.hpp>

#include <utility>

namespace corewise {

namespace detail {

/// The value of a `task_local`. A base, so that it is there before the binding, and after it.
template <class T> struct bound_object {
  T object;
};

} // namespace detail

/// A key to which a task binds a value for itself and its children: the user of a request, for instance. It
/// mostly is static.
///
///     task_local<std::string> user;
///
///     task<> serve(request r) {
///       const task_local<std::string>::value bound(user, r.user);
///       co_await when_all(read(r), count());   // both see it, on any worker
///     }
///     void log() { if (const std::string* name = user.get()) ... }
///
/// Children are all tasks and calls that end before the task goes on: the tasks of `when_all`, `when_any`
/// and `in_scope`, the calls of parallel loops and of a `blocking_scope` that is made after the value, and
/// all that a coroutine awaits. A task that is submitted is no child: pass what it needs with it.
///
/// Tasks that bind nothing pay nothing. Cost of a value: some twenty instructions. Cost of `get`: a few loads
/// for each value bound since, and for each parent in between. Together, where a coroutine that is awaited reads the value:
/// 49 instructions (GCC 12), 81 (Clang 19) (bench/instructions, `bound-value` beside `await`). Nothing is allocated.
template <class T> class task_local {
 public:
  task_local() noexcept = default;
  task_local(const task_local&) = delete;
  task_local& operator=(const task_local&) = delete;

  /// Binds a value while it lives: make it in a function or a coroutine of the task. Values end in the
  /// reverse order. A coroutine that no engine runs must not suspend meanwhile.
  class value : private detail::bound_object<T>, private detail::binding {
   public:
    /// Makes the value from the arguments. Throws what that throws.
    template <class... Args>
    explicit value(const task_local& of, Args&&... args)
        : detail::bound_object<T>{T(std::forward<Args>(args)...)},
          binding(&of) {}

   private:
    friend task_local;
  };

  /// Returns the value that holds for the calling task, or null. It stays while the calling function runs.
  /// Several tasks may read it at the same time. Call from any thread.
  const T* get() const noexcept {
    const auto* const found = static_cast<const detail::binding*>(detail::find_bound(this));
    return found != nullptr ? &static_cast<const value*>(found)->object : nullptr;
  }
};

} // namespace corewise
