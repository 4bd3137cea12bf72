#include "threads/supervisor.hpp"

#include "base/clock.hpp"
#include "base/faults.hpp"
#include "base/fence.hpp"
#include "memory/block_memory.hpp"
#include "threads/thread_name.hpp"
#include "threads/threads.hpp"
#include "worker/lent_seats.hpp"
#include "worker/queue_heads.hpp"

#include <corewise/policies/detail/atomic.hpp>
#include <corewise/topology/binding.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

namespace corewise::detail {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds lent_interval_max = 1ms;
/// The longest interval while every offer is refused, for want of spare threads.
constexpr std::chrono::nanoseconds refused_interval = 5ms;
/// The supervisor stays attentive for so long after the last lending.
constexpr std::chrono::nanoseconds attention_time = 5ms;
/// The supervisor goes on looking at tasks for so long after the last one.
constexpr std::chrono::nanoseconds linger = 500ms;
/// After so long asleep it gives spare memory back, where a size of blocks has more to spare than this.
constexpr std::chrono::nanoseconds rest_before_trim = 1500ms;
constexpr std::size_t kept_bytes = std::size_t{64} * 4096;

} // namespace

supervisor::supervisor(shared& engine, worker_threads& threads, host_service host)
    : engine_(engine),
      threads_(threads),
      host_(std::move(host)),
      stuck_(engine),
      lent_(std::make_unique<lending_sight[]>(engine.layout().size())),
      shortage_(engine, threads),
      lookout_(engine.idle().make_lookout()) {
  set_words(engine_.settings());
  static_cast<void>(
      heads_.look(monotonic::now(), [this](const auto& f) { for_each_head(engine_, f); })); // allocates
}

void supervisor::set_words(const profile& p) noexcept {
  const nanoseconds period = follow_period_of(p).value_or(nanoseconds{-1});
  follow_period_ns_.store(period.count(), std::memory_order_relaxed);
  watches_.store(p.blocking.stuck_after || follow_period_of(p) || lookout_.slots_age() ||
                     lookout_.others_help() || lookout_.watches_drivers() || lookout_.rescues(),
                 std::memory_order_relaxed);
  // Without spare threads only their shortage matters, which one that watches something sees anyway.
  attends_.store(p.blocking.spares_max != 0 || !watches(), std::memory_order_relaxed);
}

bool supervisor::set(const profile& p) noexcept {
  const auto before = stuck_.limit();
  const bool watched = watches();
  stuck_.set(p);
  set_words(p);
  full_fence(); // with B2: the look below sees a lender that reads the older word
  // Awake workers have not called; and for want of spare threads, or of the mark, a lent seat may have been missed.
  return (watches() && (!watched || stuck_.limit() != before)) || any_lent();
}

void supervisor::call() noexcept {
  if (watches()) static_cast<void>(wake());
  if (any_lent()) static_cast<void>(attend());
}

// --- what workers call

bool supervisor::offer(worker& seat, std::uint64_t lending) noexcept { return threads_.offer(seat, lending); }

bool supervisor::attend() noexcept {
  if (!attends_.load(std::memory_order_relaxed)) return true;  // no spare may take it
  attention seen = attention_.load(std::memory_order_seq_cst); // B3, pairs: B2, V2
  if (seen == attention::calm)
    attention_.compare_exchange_strong(seen, attention::called, std::memory_order_seq_cst); // pairs: B2, V2
  return seen != attention::absent || wake();
}

void supervisor::note_awake() noexcept {
  if (!watches()) return;
  full_fence();                                                           // A2
  if (asleep_.load(std::memory_order_relaxed)) static_cast<void>(wake()); // A3
}

bool supervisor::wake() noexcept {
  if (!started_.load(std::memory_order_acquire)) return start(); // pairs: started
  bed_.unpark();
  return true;
}

bool supervisor::start() noexcept {
  std::array<char, 128> why{};
  if (start_once(why)) return true;
  if (why[0] != '\0') // without the lock: the hook of the log may make the supervisor start
    engine_.notices().try_warn_once(log_code::no_supervision,
                                    "stuck workers are not reported, and the host's limits not followed: the "
                                    "supervisor's thread cannot start",
                                    why.data());
  return false;
}

/// Returns false if there is no thread; if it was refused just now, writes why.
bool supervisor::start_once(std::span<char> why) noexcept {
  const std::scoped_lock lock(starting_);
  if (refused_) return false;
  if (started_.load(std::memory_order_relaxed) || stopping_.load(std::memory_order_relaxed)) return true;
  try {
    if (refuses_supervisor())
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    bed_.unpark(); // the thread begins as a woken one
    const engine_signals::blocked blocked(threads_.signals());
    thread_ = thread([this] { main(); });
  } catch (const std::exception& e) { // no thread, or no memory for one
    refused_ = true;
    const std::string_view text(e.what());
    std::ranges::copy(text.substr(0, why.size() - 1), why.begin());
    return false;
  }
  started_.store(true, std::memory_order_release); // pairs: started
  return true;
}

void supervisor::stop() noexcept {
  stopping_.store(true, std::memory_order_seq_cst); // pairs: token; with `start` by its lock
  bed_.unpark();
  thread ending;
  {
    const std::scoped_lock lock(starting_);
    ending = std::move(thread_);
  }
  if (ending.joinable()) ending.join();
  tid_.store(0, std::memory_order_relaxed); // another thread may get the number
}

pid_t supervisor::tid() const noexcept {
  if (!started_.load(std::memory_order_acquire)) return 0; // pairs: started
  for (;;) {
    if (const pid_t tid = tid_.load(std::memory_order_relaxed); tid != 0) return std::max(tid, 0);
    if (stopping_.load(std::memory_order_relaxed)) return 0;
    sleep_for(20us);
  }
}

bool supervisor::is_this_thread() const noexcept {
  return std::abs(tid_.load(std::memory_order_relaxed)) == ::gettid();
}

// --- its thread

void supervisor::main() noexcept {
  name_thread(engine_.settings(), "/watch");
  threads_.signals().note_thread();
  // A worker started this thread, and the engine, or the program, may have tied the worker.
  refusal why;
  if (engine_.machine().is_this_system())
    why = pin_this_thread(host_.home.empty() ? engine_.machine().cpus() : host_.home);
  tid_.store(why ? -::gettid() : ::gettid(),
             std::memory_order_relaxed); // its mask is right now, or the worker's
  if (why)
    engine_.notices().try_warn_once(log_code::not_pinned, "the supervisor is tied to the CPUs of a worker",
                                    *why);
  engine_.idle().relieve_sentinel();
  std::optional<nanoseconds> wait;
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (bed_.park(wait))
      woken();
    else if (std::exchange(naps_, false))
      asleep_.store(false, std::memory_order_relaxed);
    wait = look();
    engine_.end_child(); // a hook may have forked
  }
}

/// Becomes attentive and awake. A lender called while the supervisor was absent, or the first worker works
/// again.
void supervisor::woken() noexcept {
  const auto now = monotonic::now();
  const bool napped = std::exchange(naps_, false);
  const bool absent = attention_.load(std::memory_order_relaxed) == attention::absent;
  // A nap may have been ended by a worker that works again, and by no lender.
  if (attends_.load(std::memory_order_relaxed) && (!napped || !absent || any_lent()))
    attention_.store(attention::called, std::memory_order_relaxed); // only the supervisor changes `absent`
  lent_interval_ = patience;
  if (!asleep_.load(std::memory_order_relaxed)) return;
  asleep_.store(false, std::memory_order_relaxed);
  trim_at_.reset();
  stuck_.begin(now);
  idle_since_.reset();
}

bool supervisor::any_lent() const noexcept {
  bool lent = false;
  for_each_lent(engine_, [&](worker_id, std::uint64_t) { lent = true; });
  return lent;
}

/// Does what is due. Returns how long to sleep; nothing: until the next wake-up.
std::optional<std::chrono::nanoseconds> supervisor::look() noexcept {
  const auto now = monotonic::now();
  std::optional<nanoseconds> rest = look_at_lent(now);
  if (rest || watches())
    shortage_.look(now);
  else
    shortage_.end(); // no seat is lent
  for (const std::optional<nanoseconds>& other :
       {lookout_.look(now), look_at_workers(now), trim(now), follow_host(now)})
    if (other) rest = std::min(*other, rest.value_or(*other));
  return rest;
}

// --- lent seats

std::optional<std::chrono::nanoseconds> supervisor::look_at_lent(monotonic::time_point now) noexcept {
  const attention before = attention_.load(std::memory_order_relaxed);
  if (before == attention::absent) return std::nullopt;
  if (before == attention::called) {
    // No other thread changes `called`.
    attention_.store(attention::calm, std::memory_order_seq_cst); // pairs: B2, V2
    last_lending_ = now;
  }
  bool lent = false;
  bool fresh = false;
  bool offered = false;
  bool refused = false;
  for_each_lent(engine_, [&](worker_id w, std::uint64_t lending) {
    lent = true;
    lending_sight& sight = lent_[w.value];
    if (sight.lending != lending) {
      sight = {lending, now, false};
      fresh = true;
    } else if (!sight.offered && now - sight.since >= patience) {
      sight.offered = threads_.offer(engine_.seat(w), lending);
      (sight.offered ? offered : refused) = true;
    }
  });
  if (lent) last_lending_ = now;
  if (!lent && now - last_lending_ >= attention_time && end_attention()) return std::nullopt;
  if (offered) lent_interval_ = patience;
  if (fresh && !seen_fresh_) return seen_fresh_ = true, patience; // to see whether the lending lasts
  seen_fresh_ = false;
  const nanoseconds wait = lent_interval_;
  lent_interval_ = std::min(lent_interval_ * 2, refused ? refused_interval : lent_interval_max);
  return wait;
}

/// Becomes absent. Returns false if a seat was lent meanwhile.
bool supervisor::end_attention() noexcept {
  attention expected = attention::calm;
  if (!attention_.compare_exchange_strong(expected, attention::absent,
                                          std::memory_order_seq_cst)) // V1, pairs: B2, V2
    return false;
  full_fence(); // V2
  const bool lent = any_lent();
  if (lent) attention_.store(attention::called, std::memory_order_relaxed); // V3
  return !lent;
}

// --- memory

/// Gives back what a burst took, once after each time of work. Leaves off when there is work again.
std::optional<std::chrono::nanoseconds> supervisor::trim(monotonic::time_point now) noexcept {
  if (!trim_at_) return std::nullopt;
  if (now < *trim_at_) return *trim_at_ - now;
  trim_at_.reset();
  engine_.suspended().trim(); // entries of coroutines lie in blocks
  trim_blocks(kept_bytes,
              [this] { return stopping_.load(std::memory_order_relaxed) || !engine_.idle().all_parked(); });
  return std::nullopt;
}

// --- the host

/// Looks at what the host allows, when it is time. While all sleep it does not matter.
std::optional<std::chrono::nanoseconds> supervisor::follow_host(monotonic::time_point now) noexcept {
  const nanoseconds period{follow_period_ns_.load(std::memory_order_relaxed)};
  if (period.count() < 0 || (asleep_.load(std::memory_order_relaxed) && !naps_)) return std::nullopt;
  const nanoseconds passed = now - followed_at_;
  if (passed < period) return period - passed;
  followed_at_ = now;
  host_.follow();
  return period;
}

// --- workers that are awake

/// Looks whether any worker is awake, and at its task. Returns how long to sleep; nothing: until a worker
/// wakes up.
std::optional<std::chrono::nanoseconds> supervisor::look_at_workers(monotonic::time_point now) noexcept {
  if (!watches() || asleep_.load(std::memory_order_relaxed)) return std::nullopt;
  look_at_queues(now);
  nanoseconds rest = stuck_.look(now);
  if (!engine_.idle().all_parked()) {
    idle_since_.reset();
    return rest;
  }
  if (!idle_since_) idle_since_ = now;
  if (now - *idle_since_ >= linger && fall_asleep()) {
    shortage_.end(); // no seat is lent
    trim_at_ = now + rest_before_trim;
    return std::nullopt;
  }
  // A worker that wakes up now does not call, unless there are drivers: where it takes one of two events, and is long at
  // it, the other one waits for a look.
  if (lookout_.watches_drivers() && engine_.layout().size() > 1) {
    naps_ = fall_asleep();
    if (!naps_) return std::min<nanoseconds>(rest, driver_watch::far_patience);
  }
  return lookout_.slots_age() || lookout_.others_help() ? std::min(rest, lookout::slot_look_rare) : rest;
}

void supervisor::look_at_queues(monotonic::time_point now) noexcept {
  if (now - queues_looked_at_ < stuck_workers::longest_interval / 2) return;
  queues_looked_at_ = now;
  nanoseconds oldest{0};
  try {
    oldest = heads_.look(now, [this](const auto& f) { for_each_head(engine_, f); });
  } catch (const std::bad_alloc&) {
    return;
  }
  oldest_since_ns_.store(oldest == 0ns ? 0 : (now - oldest).time_since_epoch().count(),
                         std::memory_order_relaxed);
}

std::chrono::nanoseconds supervisor::oldest_wait() const noexcept {
  const std::int64_t since = oldest_since_ns_.load(std::memory_order_relaxed);
  return since == 0 || !watches() ? 0ns : nanoseconds{monotonic::now().time_since_epoch().count() - since};
}

/// Stops looking at the workers, which all sleep. Returns whether it has: a worker may have woken up.
bool supervisor::fall_asleep() noexcept {
  asleep_.store(true, std::memory_order_seq_cst); // Z1, pairs: A2, Z2
  full_fence();                                   // Z2
  if (engine_.idle().all_parked()) {              // Z3
    oldest_since_ns_.store(0, std::memory_order_relaxed);
    return true;
  }
  asleep_.store(false, std::memory_order_relaxed);
  return false;
}

} // namespace corewise::detail
