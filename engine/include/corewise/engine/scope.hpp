#pragma once

#include <corewise/engine/task.hpp>

#include <stop_token>

namespace corewise {

/// The scope that `in_scope` makes and its body runs in: tasks may be forked into it at any time, and have
/// all ended when the scope ends.
class scope final : private detail::scope_join {
 public:
  /// Runs `child` at the same time, where a worker is free; the calling worker runs its own children, the
  /// newest first. An exception that leaves `child` stops the scope. Call from the scope's body and its
  /// children, at any depth, which builds with assertions check. Cost: a locked instruction and a fence;
  /// allocates nothing.
  void fork(task<> child) noexcept { scope_join::fork(detail::fork_access::release(std::move(child))); }

  /// Returns the token that tells the scope's tasks to come to an end: one has thrown, or a caller asked for
  /// it. It also serves for `co_await`ed work within. Call from any thread.
  std::stop_token stop_token() const noexcept { return stop_.get_token(); }
  bool stop_requested() const noexcept { return stop_.stop_requested(); }
  /// Asks the scope's tasks to come to an end. Returns whether the caller was the first. Call from any
  /// thread.
  bool request_stop() noexcept { return stop_.request_stop(); }

 private:
  template <class F> friend auto in_scope(std::stop_token outer, F body) -> std::invoke_result_t<F&, scope&>;

  scope() = default;

  struct [[nodiscard]] running {
    scope& self;
    task<> body;

    bool await_ready() const noexcept { return false; }
    template <class Promise> std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) {
      const auto given = self.suspend(parent);
      return self.begin(detail::fork_access::release(std::move(body)), given, detail::nested(parent));
    }
    void await_resume() const {
      if (self.error()) std::rethrow_exception(self.error());
    }
  };
  /// Runs `body` and waits for all; throws the first exception.
  running run(task<> body) noexcept { return {*this, std::move(body)}; }
  void stop() noexcept override { stop_.request_stop(); }

  std::stop_source stop_;
};

/// `co_await in_scope([&](scope& s) -> task<T> { s.fork(f()); ... co_return ...; })`: runs the body. The
/// await returns the body's result, when the body and all tasks that were forked into the scope have ended.
/// The first exception stops the scope (`scope::stop_token`), and the await throws it then. `outer` stops the
/// scope as well. Call in an engine's tasks only, else it throws `std::logic_error`. Cost: three frames, and an
/// allocation for the stop state.
template <class F> auto in_scope(std::stop_token outer, F body) -> std::invoke_result_t<F&, scope&> {
  using result = decltype(detail::fork_access::take(body(std::declval<scope&>())));
  scope s;
  const std::stop_callback stopped_from_outside(std::move(outer), [&s] { s.request_stop(); });
  if constexpr (std::is_void_v<result>) {
    co_await s.run(
        [](F& f, scope& in) -> task<> { co_await f(in); }(body, s)); // it may fork before it returns a task
  } else {
    std::optional<result> value;
    co_await s.run([](F& f, scope& in, std::optional<result>& out) -> task<> {
      out.emplace(co_await f(in));
    }(body, s, value));
    co_return *std::move(value);
  }
}

template <class F> auto in_scope(F body) -> std::invoke_result_t<F&, scope&> {
  return in_scope(std::stop_token{}, std::move(body));
}

} // namespace corewise
