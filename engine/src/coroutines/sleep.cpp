#include "base/clock.hpp"
#include "base/parker.hpp"
#include "runtime/runtime.hpp"

#include <corewise/engine/sleep.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <stop_token>

namespace corewise::detail {

bool sleeping::in_engine() noexcept {
  const coroutine_root* root = this_execution.root;
  return root != nullptr && !root->engine->after_process_fork();
}

void sleeping::check_in_engine() {
  if (!in_engine()) throw std::logic_error("select with a sleep is for coroutines that an engine runs");
}

bool sleeping::enter_race(const race_part& part) noexcept {
  using outcome = timer_group::outcome;
  timer_.part = &part;
  timer_.state.store(timer_state::idle, std::memory_order_relaxed); // it is in no wheel
  const outcome it_is = resumption_.root->engine->timers().set(timer_, now_ns_);
  if (it_is == outcome::closed && claim_at_end(timer_)) part.race->queued_last = &resumption_;
  return true;
}

void sleeping::leave_race() noexcept {
  if (timer_.part != nullptr) forget();
}

bool sleeping::sleep_thread(const std::stop_token& token) noexcept {
  parker bed;
  const std::stop_callback wakes(token, [&bed]() noexcept { bed.unpark(); });
  const monotonic::time_point deadline{std::chrono::nanoseconds{timer_.deadline_ns}};
  while (!token.stop_requested()) {
    const auto left = deadline - monotonic::now();
    if (left <= std::chrono::nanoseconds{0}) return true;
    bed.park(std::min<std::chrono::nanoseconds>(left, std::chrono::hours{1}));
  }
  note_stopped();
  return true;
}

void sleeping::prepare_timer() noexcept {
  timer_.task = &resumption_;
  timer_.group = resumption_.root->engine->timer_home(resumption_).value;
}

bool sleeping::set() noexcept {
  using outcome = timer_group::outcome;
  runtime& engine = *resumption_.root->engine;
  const outcome it_is = engine.timers().set(timer_, now_ns_);
  if (it_is == outcome::closed)
    engine.wake(resumption_); // no timer resumes it any more: it is destroyed with the queued tasks
  return it_is != outcome::stopped;
}

void sleeping::stop() noexcept { resumption_.root->engine->stop_sleep(timer_, resumption_); }

void sleeping::forget() noexcept { resumption_.root->engine->cancel_timer(timer_); }

} // namespace corewise::detail
