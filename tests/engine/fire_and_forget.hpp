#pragma once

#include <coroutine>
#include <exception>

/// Somebody else's coroutine: it begins when it is called, on its caller's stack, and nobody awaits it.
struct fire_and_forget {
  struct promise_type {
    fire_and_forget get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
};
