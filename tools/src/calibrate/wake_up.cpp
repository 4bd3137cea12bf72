#include "wake_up.hpp"

#include "places.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

namespace corewise::command {

namespace {

constexpr std::chrono::milliseconds rest{1};
constexpr std::uint32_t over = ~std::uint32_t{0};

/// The words of one round after the other: the sleeper says that it goes to sleep, the waker waits for the
/// rest of the time and wakes it, the sleeper says when it woke.
struct bedroom {
  std::atomic<std::uint32_t> word{0};     ///< the round that has been called; what the futex is about
  std::atomic<std::uint32_t> going{0};    ///< the round that the sleeper waits for
  std::atomic<std::uint32_t> answered{0}; ///< publishes `woke_at` and `slept` of that round
  steady_time woke_at;
  bool slept = false; ///< was asleep when it was called
};

/// Sleeps on a futex. Returns whether it slept until the waker woke it.
bool futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  return ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0) == 0;
}
void futex_wake(const std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void sleep_and_wake(bedroom& b) {
  for (std::uint32_t round = 1;; ++round) {
    b.going.store(round, std::memory_order_release);
    bool slept = false;
    while (b.word.load(std::memory_order_acquire) == round - 1) slept = futex_wait(b.word, round - 1);
    const steady_time woke_at = now();
    if (b.word.load(std::memory_order_acquire) == over) return;
    b.woke_at = woke_at; // the waker has read those of the round before
    b.slept = slept;
    b.answered.store(round, std::memory_order_release);
  }
}

void wake(bedroom& b, steady_time until, sample_list& latency, sample_list& call) {
  std::uint32_t round = 0;
  do {
    ++round;
    spin_until([&] { return b.going.load(std::memory_order_acquire) == round; });
    std::this_thread::sleep_for(rest);
    const steady_time began = now();
    b.word.store(round, std::memory_order_release);
    futex_wake(b.word);
    const steady_time called = now();
    spin_until([&] { return b.answered.load(std::memory_order_acquire) == round; });
    if (!b.slept) continue; // the sleeper was not asleep yet: the host is busy
    latency.add(ns_without_clock(began, b.woke_at));
    call.add(ns_without_clock(began, called));
  } while (now() < until);
  b.word.store(over, std::memory_order_release);
  futex_wake(b.word);
}

} // namespace

void wake_up_probe::measure(steady_time until) {
  bedroom b;
  const refusal why = run_together(
      pairs_[turn_++ % pairs_.size()], [&] { wake(b, until, latency_, call_); }, [&] { sleep_and_wake(b); });
  if (!why) return;
  for (sample_list* list : {&latency_, &call_}) list->give_up(*why);
}

void wake_up_probe::report(calibration& into) const {
  into.costs["wake_up"] = latency_.result(told(pairs_));
  into.costs["waking"] = call_.result(told(pairs_));
}

} // namespace corewise::command
