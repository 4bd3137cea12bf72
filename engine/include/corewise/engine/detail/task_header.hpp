#pragma once

#include <corewise/engine/detail/execution.hpp>
#include <corewise/engine/detail/recycled.hpp>
#include <corewise/engine/fwd.hpp>
#include <corewise/policies/task_class.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#ifdef __cpp_rtti
#include <typeinfo>
#endif
#include <utility>

#if !defined(__cpp_exceptions)
#error "corewise needs exceptions: tasks and futures hand them on, so compile without -fno-exceptions"
#endif

namespace corewise {

/// The request to a task: to run, to end without running any further, or, with no task at all (null), to say
/// which kind of task this is in `detail::this_execution.kind`.
enum class task_action : std::uint8_t { run, discard, identify };

/// The intrusive header of all queued tasks: queues carry one `task_header*` (design.md, D1). A thread that
/// takes a task from a queue owns it and calls `act` once. `act` returns whether the task has ended. A task
/// that has not ended was suspended and may be queued again, even before `act` returns. Either way, do not
/// touch it again; nor when `act` throws: then the task has ended.
struct task_header {
  bool (*act)(task_header*, task_action) = nullptr;
  task_header* next = nullptr; ///< free for the queue that holds the task
  std::uint8_t phase = 0;      ///< which of the two generations of work `drain` counts it to
  /// The class with which it was submitted; that of a resumption is its root's.
  task_class run_as = task_class::normal;
  /// Free for the type of the task. 127: a `suspension_step`; from 128 on: calls of a `blocking_scope`.
  std::uint8_t mark = 0;
  /// Until the task is begun a queue may hold a copy in its place: this header and the `relocatable_bytes`
  /// behind it are all of the task.
  bool relocatable = false;
  std::uint32_t queued_at = 0; ///< of a sampled task that waits: when it was queued (sampling.hpp); else 0
};

namespace detail {

/// Returns the name of a callable's type for dumps and reports: mangled, or where there is no RTTI the name
/// of this function. A callable of the library that calls one of the user names that one, as `F::calls`.
template <class F> const char* kind_name() noexcept {
  if constexpr (requires { typename F::calls; }) return kind_name<typename F::calls>();
#ifdef __cpp_rtti
  return typeid(F).name();
#else
  return __PRETTY_FUNCTION__;
#endif
}

template <class T> inline constexpr bool is_task = false;
template <class T> inline constexpr bool is_task<task<T>> = true;

/// Whether what a call of `F` returns may be dropped: a coroutine would never run.
template <class F> inline constexpr bool result_may_go = !is_task<std::invoke_result_t<F&>>;

/// The bytes for which a cell of an inbox has room, besides the header.
inline constexpr std::size_t relocatable_bytes = 16;

struct discard_task {
  void operator()(task_header* t) const noexcept { t->act(t, task_action::discard); }
};
/// Owns a task that no thread has begun.
using unbegun_task = std::unique_ptr<task_header, discard_task>;

template <class F> struct closure : task_header {
  template <class G>
    requires(!std::is_same_v<std::remove_cvref_t<G>, closure>)
  explicit closure(G&& g) : function(std::forward<G>(g)) {
    act = &perform;
    relocatable = std::is_trivially_copyable_v<F> && sizeof(F) <= relocatable_bytes &&
                  alignof(F) <= alignof(task_header);
  }

  static bool perform(task_header* t, task_action action) {
    if (action == task_action::identify) return this_execution.kind = kind_name<F>(), false;
    struct owner {
      closure* self;
      ~owner() { recycled<closure>::destroy(self); }
    } const own{static_cast<closure*>(t)};
    static_assert(result_may_go<F>,
                  "the callable returns a task, which would never run: pass the task itself, or "
                  "use engine::run");
    if (action == task_action::run) static_cast<void>(own.self->function());
    return true;
  }

  alignas(task_header) alignas(F) F function; // behind the header, not in its padding
};

} // namespace detail

/// Makes a task that calls a copy of `f` once; `f` may be move-only and of any size. A task whose `f` has up
/// to 4072 bytes lives in a recycled block. Throws what copying or moving `f` throws, `std::bad_alloc`.
template <class F> [[nodiscard]] task_header* make_closure(F&& f) {
  return detail::recycled<detail::closure<std::decay_t<F>>>::make(std::forward<F>(f));
}

} // namespace corewise
