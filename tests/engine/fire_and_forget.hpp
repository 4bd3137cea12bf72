#pragma once

#include <coroutine>
#include <exception>

/// A coroutine of a foreign type: it begins when it is called, on its caller's stack, and no coroutine awaits
/// it.
struct fire_and_forget {
  struct promise_type {
    fire_and_forget get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
};
