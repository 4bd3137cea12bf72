#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <type_traits>
#include <utility>

namespace corewise {

/// What is asked of a task: to run and then end, or to end without having run.
enum class task_action : std::uint8_t { run, discard };

/// The intrusive header of everything that is queued: queues carry one `task*` (design.md, D1). Whoever takes a
/// task from a queue owns it and calls `act` exactly once; the task is gone when that returns or throws.
struct task {
  void (*act)(task*, task_action) = nullptr;
  task* next = nullptr;   ///< free for the queue that holds the task
  std::uint16_t home = 0; ///< the memory node that the block came from
  std::uint8_t phase = 0; ///< which of the two generations of work `drain` counts it to
};

namespace detail {

/// Blocks come in these sizes; larger closures are allocated plainly.
inline constexpr std::size_t block_sizes[] = {64, 128, 256, 512};
inline constexpr std::size_t block_alignment = 64;
inline constexpr std::size_t block_classes = std::size(block_sizes);

/// The class for `bytes`, or `block_classes` when there is none.
constexpr std::size_t block_class(std::size_t bytes) noexcept {
  std::size_t c = 0;
  while (c < block_classes && block_sizes[c] < bytes) ++c;
  return c;
}

struct block {
  void* memory;
  std::uint16_t home;
};

/// A recycled block of the calling thread, on its memory node. A few ns. Throws `std::bad_alloc`.
block acquire_block(std::size_t size_class);
/// Gives a block back, from any thread.
void release_block(void* memory, std::size_t size_class, std::uint16_t home) noexcept;

template <class F> struct closure : task {
  static constexpr std::size_t alignment = alignof(F) > alignof(task) ? alignof(F) : alignof(task);
  static constexpr std::size_t bytes = (sizeof(task) + alignment - 1) / alignment * alignment +
                                       (sizeof(F) + alignment - 1) / alignment * alignment;
  static constexpr std::size_t size_class = alignment > block_alignment ? block_classes : block_class(bytes);

  template <class G>
    requires(!std::is_same_v<std::remove_cvref_t<G>, closure>)
  explicit closure(G&& g) : function(std::forward<G>(g)) {
    act = &perform;
  }

  static void perform(task* t, task_action action) {
    struct owner {
      closure* self;
      ~owner() { destroy(self); }
    } const own{static_cast<closure*>(t)};
    if (action == task_action::run) static_cast<void>(own.self->function());
  }

  template <class G> static task* make(G&& g) {
    if constexpr (size_class == block_classes) {
      return new closure(std::forward<G>(g));
    } else {
      const block b = acquire_block(size_class);
      try {
        auto* self = ::new (b.memory) closure(std::forward<G>(g));
        self->home = b.home;
        return self;
      } catch (...) {
        release_block(b.memory, size_class, b.home);
        throw;
      }
    }
  }

  static void destroy(closure* self) noexcept {
    if constexpr (size_class == block_classes) {
      delete self;
    } else {
      static_assert(sizeof(closure) <= block_sizes[size_class]);
      const std::uint16_t home = self->home;
      self->~closure();
      release_block(self, size_class, home);
    }
  }

  F function;
};

} // namespace detail

/// A task that calls a copy of `f` once; move-only callables of any size will do. Small ones (up to 488
/// bytes) live in a recycled block. Throws what copying or moving `f` throws, `std::bad_alloc`.
template <class F> [[nodiscard]] task* make_closure(F&& f) {
  return detail::closure<std::decay_t<F>>::make(std::forward<F>(f));
}

} // namespace corewise
