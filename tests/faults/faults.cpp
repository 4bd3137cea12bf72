#include "faults.hpp"

#include <corewise/policies/policy.hpp>

#include <base/fence.hpp>
#include <sched.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <utility>

namespace corewise::tests {

namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct delays {
  std::uint32_t one_in = static_cast<std::uint32_t>(from_environment("COREWISE_DELAY_ONE_IN", 0));
  std::uint64_t seed = from_environment("COREWISE_DELAY_SEED", std::random_device{}());
  std::atomic<std::uint64_t> threads{0};

  delays() {
    if (one_in == 0) return;
    std::printf("COREWISE_DELAY_ONE_IN=%u COREWISE_DELAY_SEED=%llu\n", one_in,
                static_cast<unsigned long long>(seed));
    std::fflush(stdout);
  }
};

delays& all_delays() {
  static delays d;
  return d;
}

/// Delays the thread, mostly for a short time: most windows between two steps are short.
void take_a_while(placement_rng& rng) noexcept {
  const std::uint32_t kind = rng.below(64);
  if (kind < 48) {
    for (std::uint32_t n = rng.below(256); n > 0; --n) detail::pause_core();
  } else if (kind < 63) {
    ::sched_yield();
  } else {
    const timespec moment{.tv_sec = 0, .tv_nsec = static_cast<long>(rng.below(100'000))};
    ::nanosleep(&moment, nullptr);
  }
}

std::atomic<bool> no_blocks{false};
std::atomic<bool> no_supervisor{false};
std::atomic<std::uint64_t> drop_period{0};
std::atomic<std::uint64_t> wakes{0};
std::atomic<std::uint64_t> dropped{0};

thread_local bool within = false;
struct step_call {
  std::function<void()> call;

  step_call() = default;
  step_call(const step_call&) = delete;
  step_call& operator=(const step_call&) = delete;
  ~step_call() { within = true; } // a thread takes steps after its thread-local objects are gone
};
thread_local step_call at_step;
std::atomic<bool> counts_meetings{false};
std::atomic<std::uint64_t> met_so_often{0};

} // namespace

void drop_wakes(std::uint64_t period) noexcept { drop_period.store(period); }
std::uint64_t dropped_wakes() noexcept { return dropped.load(); }

void refuse_blocks(bool refuse) noexcept { no_blocks.store(refuse); }
void refuse_supervisor(bool refuse) noexcept { no_supervisor.store(refuse); }

void at_each_step(std::function<void()> f) { at_step.call = std::move(f); }
void count_meetings() noexcept { counts_meetings.store(true); }
std::uint64_t meetings() noexcept { return met_so_often.load(); }

} // namespace corewise::tests

namespace corewise::detail {

void step() noexcept {
  if (tests::within) return; // a test's own steps are none
  if (tests::at_step.call) {
    tests::within = true;
    tests::at_step.call();
    tests::within = false;
  }
  tests::delays& all = tests::all_delays();
  if (all.one_in == 0) return;
  thread_local placement_rng rng(all.seed + all.threads.fetch_add(1, std::memory_order_relaxed));
  if (rng.below(all.one_in) == 0) tests::take_a_while(rng);
}

bool loses_wake() noexcept {
  const std::uint64_t period = tests::drop_period.load(std::memory_order_relaxed);
  if (period == 0 || (tests::wakes.fetch_add(1, std::memory_order_relaxed) + 1) % period != 0) return false;
  tests::dropped.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool refuses_supervisor() noexcept { return tests::no_supervisor.load(std::memory_order_relaxed); }

bool refuses_blocks() noexcept { return tests::no_blocks.load(std::memory_order_relaxed); }

void met() noexcept {
  tests::met_so_often.fetch_add(1);
  if (tests::counts_meetings.load()) return;
  std::fputs("two threads are at once where only one may be\n", stderr);
  std::abort();
}

} // namespace corewise::detail
