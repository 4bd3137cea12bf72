#pragma once

#include <corewise/engine/detail/resumption.hpp>
#include <corewise/topology/ids.hpp>

namespace corewise {

class engine;

namespace detail {

/// The awaiter of `resume_on(group)`.
class [[nodiscard]] moving_to_group {
 public:
  explicit moving_to_group(group_id to) noexcept : to_(to) {}
  moving_to_group(const moving_to_group&) = delete;
  moving_to_group& operator=(const moving_to_group&) = delete;

  bool await_ready() const noexcept { return false; }
  template <class Promise> void await_suspend(std::coroutine_handle<Promise> suspended) {
    move(suspended, of_task<Promise>());
  }
  void await_resume() const noexcept {}

 private:
  void move(std::coroutine_handle<> suspended, bool is_of_task);

  group_id to_;
  resumption resumption_;
};

/// The awaiter of `resume_on(engine)`.
class [[nodiscard]] moving_to_engine {
 public:
  explicit moving_to_engine(runtime& to) noexcept : to_(to) {}
  moving_to_engine(const moving_to_engine&) = delete;
  moving_to_engine& operator=(const moving_to_engine&) = delete;

  bool await_ready() const noexcept { return false; }
  template <class Promise> void await_suspend(std::coroutine_handle<Promise> suspended) {
    move(suspended, of_task<Promise>(), nested(suspended));
  }
  void await_resume() const noexcept {}

 private:
  void move(std::coroutine_handle<> suspended, bool is_of_task, bool is_nested);

  runtime& to_;
  resumption resumption_;
};

} // namespace detail

/// `co_await resume_on(g)`: the calling coroutine goes on with a worker of that group of its engine, if one
/// is available there; its class stays. Like any task it may be stolen later. Throws `std::logic_error`
/// outside of an engine's tasks, and when there is no such group. Cost: that of `submit`, without a block.
inline detail::moving_to_group resume_on(group_id g) noexcept { return detail::moving_to_group(g); }

/// `co_await resume_on(e)`: the calling coroutine goes on with the workers of engine `e`, and stays there
/// until it moves again. From then on it is a task of `e`: the `drain` of `e` waits for it, the shutdown of
/// `e` drops it, and the profile of `e` says what an exception does (`on_exception`).
///
/// All coroutines of one task move together: a coroutine that awaits the calling one (`co_await f()`) goes on
/// with `e` as well. A coroutine that awaits through an engine does not: if it awaits a `future`, or a
/// `oneshot`, it goes on with its own engine, wherever the other side ends. Children of `when_all`,
/// `when_any` and `in_scope` are parts of their parent's task and cannot leave its engine; they may
/// `co_await e.run(...)` instead. A coroutine of another type than `task`, or one whose handle has lost its
/// type, cannot leave either. The same holds for coroutines that it awaits: a task may have resumed it by
/// hand, and may still run on this thread. Nor may a task move while a coroutine that it resumed by hand is
/// suspended.
///
/// Throws `not_run` when `e` takes no more tasks (`limits.in_flight`, a shutdown), and `std::logic_error`
/// outside of an engine's tasks, in such a child and in such a coroutine; the coroutine then stays where it
/// is. It never waits for room. Cost: that of `submit` from outside, without a block.
detail::moving_to_engine resume_on(engine& e) noexcept;

} // namespace corewise
