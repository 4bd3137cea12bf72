#include "runtime/runtime.hpp"

#include <corewise/engine/detail/lock.hpp>
#include <corewise/engine/sleep.hpp>

#include <condition_variable>

namespace corewise::detail {

bool sleeping::in_engine() noexcept {
  const coroutine_root* root = this_execution.root;
  return root != nullptr && !root->engine->after_process_fork();
}

bool sleeping::sleep_thread(const std::stop_token& token) noexcept {
  mutex own;
  std::unique_lock lock(own);
  const steady_time deadline{std::chrono::nanoseconds{timer_.deadline_ns}};
  const auto stopped = [&] { return token.stop_requested(); };
  if (std::condition_variable_any().wait_until(lock, token, deadline, stopped)) note_stopped();
  return true;
}

void sleeping::prepare(std::coroutine_handle<> suspended) noexcept {
  place_.suspend(suspended);
  timer_.task = &place_;
  timer_.group = place_.root->engine->timer_home(place_).value;
}

bool sleeping::set() noexcept {
  using outcome = timer_group::outcome;
  runtime& engine = *place_.root->engine;
  const outcome it_is = engine.set_timer(timer_, now_ns_);
  if (it_is == outcome::closed)
    engine.wake(place_); // no timer resumes it any more: it is destroyed with the queued tasks
  return it_is != outcome::stopped;
}

void sleeping::stop() noexcept {
  if (place_.root->engine->cancel_timer(timer_)) place_.wake();
}

void sleeping::forget() noexcept { place_.root->engine->cancel_timer(timer_); }

} // namespace corewise::detail
