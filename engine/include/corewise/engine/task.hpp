#pragma once

#include <corewise/engine/detail/fork_join.hpp>
#include <corewise/engine/fwd.hpp>

#include <cassert>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>

namespace corewise {

namespace detail {

/// Returns the frame. Keeps the compiler from moving two neighbouring tasks by one wide load: it would wait
/// until both narrow stores before it have left the store buffer.
inline std::coroutine_handle<> loaded_alone(std::coroutine_handle<> frame) noexcept {
  void* address = frame.address();
  asm("" : "+r"(address));
  return std::coroutine_handle<>::from_address(address);
}

/// Reports the exception in flight, which left a root.
void root_failed(runtime& engine) noexcept;

/// The common part of all tasks' promises. Frames come from recycled blocks of the calling thread.
struct task_promise_base : strand {
  static void* operator new(std::size_t bytes) {
    const std::size_t size_class = block_class(bytes);
    return size_class == block_classes ? acquire_large(bytes) : acquire_block(size_class);
  }
  static void operator delete(void* frame, std::size_t bytes) noexcept {
    const std::size_t size_class = block_class(bytes);
    return size_class == block_classes ? release_large(frame, bytes) : release_block(frame, size_class);
  }

  /// The last step of a coroutine. Its awaiter goes on at once; a root ends here and destroys its frame.
  struct final_step {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      task_promise_base& p = ended.promise();
      if (p.engine != nullptr) return end_strand(p);
      return transfer_beneath(p.nested, p.continuation);
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() const noexcept { return {}; }
  final_step final_suspend() const noexcept { return {}; }
};

/// The value of a task, in room that is not aligned. So the promise is where it is in each frame.
template <class T> class wide_value {
 public:
  wide_value() noexcept = default;
  wide_value(const wide_value&) = delete;
  wide_value& operator=(const wide_value&) = delete;
  ~wide_value() {
    if (value_ != nullptr) std::destroy_at(value_);
  }

  template <class U> void emplace(U&& u) {
    void* at = room_;
    std::size_t bytes = sizeof(room_);
    value_ = ::new (std::align(alignof(T), sizeof(T), at, bytes)) T(std::forward<U>(u));
  }
  T&& operator*() && noexcept { return std::move(*value_); }

 private:
  std::byte room_[sizeof(T) + alignof(T)];
  T* value_ = nullptr;
};

template <class T> struct task_promise : task_promise_base {
  std::conditional_t<(alignof(T) > 2 * sizeof(void*)), wide_value<T>, std::optional<T>> value;

  task<T> get_return_object() noexcept;
  template <class U> void return_value(U&& u) { value.emplace(std::forward<U>(u)); }
  void unhandled_exception() noexcept { error = std::current_exception(); }
  T take() {
    if (error) std::rethrow_exception(error);
    return *std::move(value);
  }
};

template <> struct task_promise<void> : task_promise_base {
  task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void unhandled_exception() noexcept {
    if (engine != nullptr && role() == strand_role::root) return root_failed(*engine);
    error = std::current_exception();
  }
  void take() const {
    if (error) std::rethrow_exception(error);
  }
};

} // namespace detail

#if defined(__clang__) && __has_cpp_attribute(clang::coro_await_elidable)
/// The frame of a coroutine that is awaited where it is called may lie in the frame of its caller.
#define COREWISE_ELIDABLE [[clang::coro_await_elidable]]
#else
#define COREWISE_ELIDABLE
#endif

/// A lazy coroutine: it begins when it is awaited, on the thread that awaits it, or when it is submitted to
/// an engine. Awaiting it returns its value or throws its exception. Move-only. Its frame lives in a recycled
/// block (up to 4096 bytes) and ends with the object. It has one awaiter, once: builds with assertions notice
/// when it is awaited, forked or submitted again.
template <class T> class [[nodiscard]] COREWISE_ELIDABLE task {
 public:
  using promise_type = detail::task_promise<T>;

  task(task&& other) noexcept {
    held_.frame = detail::loaded_alone(std::exchange(other.held_.frame, nullptr));
  }
  task& operator=(task&& other) noexcept {
    task taken(std::move(other));
    std::swap(held_.frame, taken.held_.frame);
    return *this;
  }
  ~task() {
    if (held_.frame) held_.frame.destroy();
  }

#ifdef __clang__
  auto& operator co_await() && noexcept { return held_; }
#else
  auto operator co_await() && noexcept {
    return awaiter_of{held_};
  } // GCC 12 copies an awaiter that it gets by reference
#endif

  /// Gives up the frame, which becomes a root of `engine`. For the engine.
  task_header* release_to(runtime& engine) && noexcept
    requires std::same_as<T, void>
  {
    assert(held_.frame && "the submitted task was moved from or submitted before");
    promise_type& root = held_.promise();
    held_.frame = nullptr;
    assert(!root.continuation && "the submitted task was awaited before");
    root.act = &detail::coroutine_root::perform;
    root.engine = &engine;
    return &root;
  }

 private:
  friend promise_type;
  friend class detail::fork_access;

  /// Owns the frame and awaits it. The engine's end takes the frame out of here when it has destroyed it.
  struct awaiter : detail::frame_owner {
    awaiter() noexcept = default;
    awaiter(const awaiter&) = delete;
    awaiter& operator=(const awaiter&) = delete;

    promise_type& promise() const noexcept { return handle().promise(); }
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> waiting) noexcept {
      assert(frame && "the awaited task was moved from or submitted before");
      const std::coroutine_handle<promise_type> awaited = handle();
      promise_type& p = awaited.promise();
      assert(!p.continuation && "a task is awaited twice");
      p.continuation = waiting;
      p.nested = detail::nested(waiting);
      if constexpr (detail::of_task<Promise>()) p.owner = this;
      return detail::transfer_beneath(p.nested, awaited);
    }
    T await_resume() const { return promise().take(); }

   private:
    std::coroutine_handle<promise_type> handle() const noexcept {
      return std::coroutine_handle<promise_type>::from_address(frame.address());
    }
  };

  /// Awaits the task by its awaiter.
  struct awaiter_of {
    awaiter& held;

    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> waiting) const noexcept {
      return held.await_suspend(waiting);
    }
    T await_resume() const { return held.await_resume(); }
  };

  explicit task(promise_type& promise) noexcept {
    held_.frame = std::coroutine_handle<promise_type>::from_promise(promise);
  }

  awaiter held_;
};

namespace detail {

template <class T> task<T> task_promise<T>::get_return_object() noexcept {
  static_assert(alignof(task_promise) <= 2 * sizeof(void*), "`coroutine_root::frame` finds it");
  return task<T>(*this);
}
inline task<void> task_promise<void>::get_return_object() noexcept { return task<void>(*this); }

} // namespace detail

} // namespace corewise

#undef COREWISE_ELIDABLE
