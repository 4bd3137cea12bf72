#pragma once

#include <corewise/engine/detail/resumption.hpp>
#include <corewise/engine/hint.hpp>

namespace corewise::detail {

/// The awaiter of `engine::schedule`.
class [[nodiscard]] rescheduling {
 public:
  rescheduling(runtime& on, const hint& wish) noexcept : on_(on), wish_(wish) {}
  rescheduling(const rescheduling&) = delete;
  rescheduling& operator=(const rescheduling&) = delete;

  bool await_ready() const noexcept { return false; }
  template <class Promise> void await_suspend(std::coroutine_handle<Promise> suspended) {
    move(suspended, of_task<Promise>());
  }
  void await_resume() const noexcept {}

 private:
  void move(std::coroutine_handle<> suspended, bool is_of_task);

  runtime& on_;
  hint wish_;
  resumption resumption_;
};

} // namespace corewise::detail
