#pragma once

#include <corewise/engine/detail/resumption.hpp>

#include <memory>
#include <type_traits>

namespace corewise {

/// `co_await yield()`: lets other tasks run first. The coroutine goes behind the tasks that its worker has
/// queued, and stays with that worker unless a thief takes it. Outside of an engine's tasks it does nothing.
/// Cost: a few ns; allocates nothing.
class [[nodiscard]] yield {
 public:
  yield() noexcept {}
  yield(const yield&) = delete;
  yield& operator=(const yield&) = delete;
  ~yield() {}

  bool await_ready() const noexcept { return detail::this_execution.root == nullptr; }
  template <class Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    if constexpr (std::is_base_of_v<detail::coroutine_root, Promise>) {
      detail::coroutine_root& root = suspended.promise();
      if (root.runs()) return root.give_way();
    }
    std::construct_at(&resumption_)->suspend(suspended);
    if (detail::nested(suspended)) [[unlikely]]
      return resumption_.wake_behind(), std::noop_coroutine();
    return resumption_.give_way();
  }
  void await_resume() const noexcept {}

 private:
  static_assert(std::is_trivially_destructible_v<detail::resumption>);
  union {
    detail::resumption resumption_; // made where it is filled in: it would be emptied before, at each turn
  };
};

} // namespace corewise
