#include "base/clock.hpp"
#include "base/futex.hpp"

#include <corewise/engine/future.hpp>

#include <cassert>

namespace corewise::detail {

void check_may_wait() {
  if (this_execution.seat != nullptr)
    throw std::logic_error(
        "a waiting worker cannot run the work that it waits for: co_await the future, or wait in blocking()");
}

/// Returns false if the state is settled.
bool future_state::begin_waiting(resumption* who) noexcept {
  resumption* before = nullptr;
  const bool waits = waiter_.compare_exchange_strong(before, who, std::memory_order_acq_rel, // pairs: waits
                                                     std::memory_order_acquire);             // pairs: settled
  assert((waits || before == settled()) && "a future is awaited while another waiter waits for it");
  return waits;
}

bool future_state::wait(std::optional<std::chrono::nanoseconds> limit) {
  if (ready()) return true;
  check_may_wait();
  const auto began = monotonic::now();
  if (!begin_waiting(sleeper())) return true;
  while (done_.load(std::memory_order_acquire) == 0) { // pairs: settled
    std::optional<std::chrono::nanoseconds> left;
    if (limit) {
      left = *limit - (monotonic::now() - began);
      if (left->count() <= 0) break;
    }
    futex_wait(done_, 0, left);
  }
  resumption* still = sleeper();
  return !waiter_.compare_exchange_strong(still, nullptr, std::memory_order_acq_rel, // pairs: waits
                                          std::memory_order_acquire);                // pairs: settled
}

bool future_state::suspend(future_waiter& waits, std::coroutine_handle<> suspended) noexcept {
  static constexpr wait_record how{wait_kind::future, [](suspension& s) noexcept {
                                     auto& self = static_cast<future_waiter&>(s);
                                     return self.state.withdraw(self);
                                   }};
  waits.suspend(suspended, how);
  waits.take_entry();
  return begin_waiting(&waits);
}

bool future_state::withdraw(resumption& waits) noexcept {
  resumption* still = &waits;
  return waiter_.compare_exchange_strong(still, nullptr, std::memory_order_acq_rel, // pairs: waits
                                         std::memory_order_acquire);                // pairs: settled
}

void future_state::settle() noexcept {
  resumption* const before = waiter_.exchange(settled(), std::memory_order_acq_rel); // pairs: settled, waits
  if (before == nullptr) return;
  if (before != sleeper()) return before->wake();
  done_.store(1, std::memory_order_release); // pairs: settled
  futex_wake_all(done_);
}

} // namespace corewise::detail
