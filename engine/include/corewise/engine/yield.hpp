#pragma once

#include <corewise/engine/resumption.hpp>

namespace corewise {

/// `co_await yield()`: lets others run first. The coroutine goes behind what its worker has queued, and stays with
/// that worker unless a thief takes it. Outside of an engine's tasks it does nothing. Cost: a few ns; allocates
/// nothing.
class [[nodiscard]] yield {
 public:
  yield() noexcept = default;
  yield(const yield&) = delete;
  yield& operator=(const yield&) = delete;

  bool await_ready() const noexcept { return detail::this_execution.root == nullptr; }
  void await_suspend(std::coroutine_handle<> suspended) noexcept {
    place_.suspend(suspended);
    place_.give_way();
  }
  void await_resume() const noexcept {}

 private:
  detail::resumption place_;
};

} // namespace corewise
