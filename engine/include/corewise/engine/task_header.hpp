#pragma once

#include <corewise/engine/execution.hpp>
#include <corewise/engine/task_blocks.hpp>
#include <corewise/policies/task_class.hpp>

#include <cstdint>
#include <new>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace corewise {

/// What is asked of a task: to run, to end without running any further, or, of no task at all (null), to say which kind
/// of task this is in `detail::this_execution.kind`.
enum class task_action : std::uint8_t { run, discard, identify };

/// The intrusive header of everything that is queued: queues carry one `task_header*` (design.md, D1). Whoever
/// takes a task from a queue owns it and calls `act` once; it answers whether the task has ended. A task that
/// has not ended was suspended and may be queued again, even before the answer comes. Either way nothing of it
/// is the caller's any more, nor is it when `act` throws: then the task has ended.
struct task_header {
  bool (*act)(task_header*, task_action) = nullptr;
  task_header* next = nullptr; ///< free for the queue that holds the task
  std::uint8_t phase = 0;      ///< which of the two generations of work `drain` counts it to
  /// As it was submitted; a resumption has its root's.
  task_class run_as = task_class::normal;
  std::uint8_t mark = 0; ///< free for the type of the task
};

namespace detail {

template <class F> struct closure : task_header {
  static constexpr std::size_t alignment = alignof(F) > alignof(task_header) ? alignof(F)
                                                                             : alignof(task_header);
  static constexpr std::size_t bytes = (sizeof(task_header) + alignment - 1) / alignment * alignment +
                                       (sizeof(F) + alignment - 1) / alignment * alignment;
  static constexpr std::size_t size_class = alignment > block_alignment ? block_classes : block_class(bytes);

  template <class G>
    requires(!std::is_same_v<std::remove_cvref_t<G>, closure>)
  explicit closure(G&& g) : function(std::forward<G>(g)) {
    act = &perform;
  }

  static bool perform(task_header* t, task_action action) {
    if (action == task_action::identify) return this_execution.kind = typeid(F).name(), false;
    struct owner {
      closure* self;
      ~owner() { destroy(self); }
    } const own{static_cast<closure*>(t)};
    if (action == task_action::run) static_cast<void>(own.self->function());
    return true;
  }

  template <class G> static task_header* make(G&& g) {
    if constexpr (size_class == block_classes) {
      return new closure(std::forward<G>(g));
    } else {
      void* memory = acquire_block(size_class);
      try {
        return ::new (memory) closure(std::forward<G>(g));
      } catch (...) {
        release_block(memory, size_class);
        throw;
      }
    }
  }

  static void destroy(closure* self) noexcept {
    if constexpr (size_class == block_classes) {
      delete self;
    } else {
      static_assert(sizeof(closure) <= block_sizes[size_class]);
      self->~closure();
      release_block(self, size_class);
    }
  }

  F function;
};

} // namespace detail

/// A task that calls a copy of `f` once; move-only callables of any size will do. Small ones (up to 488
/// bytes) live in a recycled block. Throws what copying or moving `f` throws, `std::bad_alloc`.
template <class F> [[nodiscard]] task_header* make_closure(F&& f) {
  return detail::closure<std::decay_t<F>>::make(std::forward<F>(f));
}

} // namespace corewise
