#pragma once

#include <corewise/engine/task.hpp>

/// Runs a coroutine without an engine: on the calling thread up to its first wait, and then on each thread
/// that resumes it. The destructor destroys its frame, wherever the coroutine is.
class outside {
 public:
  explicit outside(corewise::task<> body)
      : body_(std::move(body)),
        awaiter_(std::move(body_).operator co_await()) {
    corewise::detail::drive(awaiter_.await_suspend(std::noop_coroutine()));
  }

 private:
  corewise::task<> body_;
  decltype(std::declval<corewise::task<>>().operator co_await()) awaiter_; // in `body_`
};
