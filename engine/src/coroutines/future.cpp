#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/process_fork.hpp"
#include "runtime/runtime.hpp"

#include <corewise/engine/future.hpp>

#include <cassert>

namespace corewise::detail {

void check_may_wait() {
  forget_parent_process();
  if (this_execution.seat != nullptr)
    throw std::logic_error(
        "a waiting worker cannot run the work that it waits for: co_await the future, or wait in blocking()");
}

bool future_state::begin_waiting(resumption* waiter) noexcept {
  if (left_behind()) return false;
  resumption* before = nullptr;
  const bool waits =
      waiter_.compare_exchange_strong(before, waiter, std::memory_order_acq_rel, // pairs: waits
                                      std::memory_order_acquire);                // pairs: settled
  assert((waits || before == settled()) && "a future is awaited while another waiter waits for it");
  return waits;
}

void future_state::begin() noexcept { pending_.store(process_number(), std::memory_order_relaxed); }

/// Returns whether the work is the parent's, and this the child of a process fork: it never ends here.
bool future_state::left_behind() const noexcept {
  const std::uint32_t number = pending_.load(std::memory_order_relaxed);
  return number != 0 && number != process_number();
}

bool future_state::wait(std::optional<std::chrono::nanoseconds> limit) {
  if (ready() || left_behind()) return true;
  check_may_wait();
  const auto began = monotonic::now();
  if (!begin_waiting(sleeper())) return true;
  for (;;) {
    const std::uint32_t pending = pending_.load(std::memory_order_acquire); // pairs: settled
    if (pending == 0) break;
    std::optional<std::chrono::nanoseconds> left;
    if (limit) {
      const auto passed = monotonic::now() - began;
      if (*limit <= passed) break;
      left = *limit - passed;
    }
    futex_wait(pending_, pending, left);
  }
  resumption* still = sleeper();
  return !waiter_.compare_exchange_strong(still, nullptr, std::memory_order_acq_rel, // pairs: waits
                                          std::memory_order_acquire);                // pairs: settled
}

const wait_record future_waiter::how_{wait_kind::future, [](suspension& s) noexcept {
                                        auto& self = static_cast<future_waiter&>(s);
                                        return self.state.withdraw(self) ? withdrawal::of_end
                                                                         : withdrawal::of_waker;
                                      }};

bool future_state::withdraw(resumption& waits) noexcept {
  resumption* still = &waits;
  return waiter_.compare_exchange_strong(still, nullptr, std::memory_order_acq_rel, // pairs: waits
                                         std::memory_order_acquire);                // pairs: settled
}

void future_state::settle() noexcept {
  resumption* const before = waiter_.exchange(settled(), std::memory_order_acq_rel); // pairs: settled, waits
  if (before == nullptr || left_behind()) return; // a waiter is the parent's, too
  if (before != sleeper()) return before->wake();
  pending_.store(0, std::memory_order_release); // pairs: settled
  futex_wake_all(pending_);
}

} // namespace corewise::detail
