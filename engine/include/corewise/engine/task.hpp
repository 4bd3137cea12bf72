#pragma once

#include <corewise/engine/detail/fork_join.hpp>
#include <corewise/engine/fwd.hpp>

#include <cassert>
#include <exception>
#include <optional>

namespace corewise {

namespace detail {

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
      return p.engine == nullptr ? transfer_to(p.continuation) : end_root(p, ended);
    }
    /// A function of its own, so that a coroutine that was only awaited saves no registers for it.
    [[gnu::noinline]] static std::coroutine_handle<> end_root(task_promise_base& p,
                                                              std::coroutine_handle<> ended) noexcept {
      if (p.role() != strand_role::root) return end_strand(p);
      this_execution.root_ended = true;
      ended.destroy();
      return std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() const noexcept { return {}; }
  final_step final_suspend() const noexcept { return {}; }
};

template <class T> struct task_promise : task_promise_base {
  std::optional<T> value;

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

  task(task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  task& operator=(task&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~task() {
    if (frame_) frame_.destroy();
  }

  auto operator co_await() && noexcept { return awaiter{frame_}; }

  /// Gives up the frame, which becomes a root of `engine`. For the engine.
  task_header* release_to(runtime& engine) && noexcept
    requires std::same_as<T, void>
  {
    assert(frame_ && "the submitted task was moved from or submitted before");
    promise_type& root = std::exchange(frame_, nullptr).promise();
    assert(!root.continuation && "the submitted task was awaited before");
    root.act = &detail::coroutine_root::perform;
    root.frame = std::coroutine_handle<promise_type>::from_promise(root);
    root.engine = &engine;
    return &root;
  }

 private:
  friend promise_type;
  friend class detail::fork_access;

  struct awaiter {
    std::coroutine_handle<promise_type> frame;

    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> waiting) const noexcept {
      assert(frame && "the awaited task was moved from or submitted before");
      assert(!frame.promise().continuation && "a task is awaited twice");
      frame.promise().continuation = waiting;
      frame.promise().nested = detail::nested(waiting);
      return detail::transfer_to(frame);
    }
    T await_resume() const { return frame.promise().take(); }
  };

  explicit task(promise_type& promise) noexcept
      : frame_(std::coroutine_handle<promise_type>::from_promise(promise)) {}

  std::coroutine_handle<promise_type> frame_;
};

namespace detail {

template <class T> task<T> task_promise<T>::get_return_object() noexcept { return task<T>(*this); }
inline task<void> task_promise<void>::get_return_object() noexcept { return task<void>(*this); }

} // namespace detail

} // namespace corewise

#undef COREWISE_ELIDABLE
