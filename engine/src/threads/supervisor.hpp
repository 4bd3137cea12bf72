#pragma once

#include "base/clock.hpp"
#include "base/parker.hpp"
#include "base/task_clock.hpp"
#include "books/head_watch.hpp"
#include "idle/lookout.hpp"
#include "threads/spare_shortage.hpp"
#include "threads/stuck_workers.hpp"
#include "worker/thread_service.hpp"

#include <corewise/engine/detail/lock.hpp>
#include <corewise/engine/profile.hpp>
#include <corewise/policies/detail/atomic.hpp>
#include <corewise/topology/ids.hpp>

#include <sys/types.h>

#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

// The supervisor looks after an engine while its workers are busy (Go's sysmon). It is one thread, which the
// engine starts when the first task runs. It looks at lent seats and at tasks that do not end. Its lookout
// (lookout.hpp) looks at tasks that age in LIFO slots, and for work whose wake-up got lost.
//
// *Lent seats.* A task that blocks lends its seat (seat_generation.hpp) and wakes no thread. The supervisor
// sees the lending twice, `patience` apart, and then offers the seat to a spare thread. So a call that ends
// sooner costs no thread switch. The supervisor looks every 50 us while lendings last that long. It looks
// less and less often, down to every 1 ms, while they are short. After 5 ms without a lending it is *absent*,
// and the next lending wakes it.
//
//     task's thread                               supervisor
//     B1  mark the seat as lent                   V1  absent
//     B2  full fence (the exchange of `lend`)     V2  full fence
//     B3  not absent: done; else wake it          V3  a seat is marked: attentive again
//
// One of the two fences comes first: B3 sees that the supervisor is absent, or V3 sees the mark.
// tests/model/seat.pml proves that no task waits for ever in a lent seat while there is a spare thread, and
// that a task does wait for ever without B2, V2 or V3.
//
// *Stuck workers.* While any worker is awake, the supervisor looks for tasks that do not end
// (stuck_workers.hpp).
//
// *Asleep.* When all workers sleep the supervisor looks for half a second longer. Then it is asleep: it wakes
// up once a second for its lookout, or not at all if the profile has no adaptive `idle.park_timeout`. Once,
// after 1.5 s, it gives back the memory that tasks no longer need (block_memory.hpp). A worker that wakes up
// wakes it:
//
//     woken worker                                supervisor
//     A1  not counted as parked                   Z1  asleep = true
//     A2  full fence                              Z2  full fence
//     A3  asleep: wake it                         Z3  a worker is not parked: awake again
//
// Where there are drivers, it sleeps so between its looks of that half second as well (`naps_`).
//
// One of the two fences comes first: A3 sees that the supervisor is asleep, or Z3 sees that the worker is not
// parked. So while a worker is awake, the supervisor looks at its task and its slot, or is about to.
// tests/model/slot.pml proves it, and that it fails without A2, Z2 or Z3.
//
// | tag     | release site         | acquire site         | publishes           | weakened                 |
// |---------|----------------------|----------------------|---------------------|--------------------------|
// | B2, V2  | exchange; full_fence | full_fence; exchange | nothing; order only | a lent seat is missed    |
// | A2, Z2  | full_fence (seq_cst) | full_fence (seq_cst) | nothing; order only | a stuck worker or a full |
// |         |                      |                      |                     | slot is missed           |
// | started | start: store         | wake, tid: loads     | that a thread uses  | `start` takes its lock   |
// |         |                      |                      | the bed             | once more, for nothing   |

namespace corewise::detail {

class shared;
class worker_threads;

class supervisor final : public thread_service {
 public:
  /// The supervisor takes a lending for a long one if it sees it twice, so far apart. The time is several
  /// times the cost of a thread switch.
  static constexpr std::chrono::microseconds patience{50};

  /// How the supervisor follows what the host allows.
  struct host_service {
    cpu_set home;                 ///< what its thread is tied to, so that its mask tells what others do to it
    std::function<void()> follow; ///< looks
  };

  /// Makes a supervisor without a thread. It does not use `threads` before a seat is lent. Throws `std::bad_alloc`.
  supervisor(shared& engine, worker_threads& threads, host_service host);
  supervisor(const supervisor&) = delete;
  supervisor& operator=(const supervisor&) = delete;

  /// Puts a new profile in force. The boards already show which seats are lent. Call from one thread at a
  /// time. Returns whether `call` must follow. Cost: a word for 64 workers.
  [[nodiscard]] bool set(const profile& settings) noexcept;
  /// Makes the supervisor look, since workers may have had no reason to. Call without a lock: where there can be no
  /// thread the log is told, and its hook may call the engine. Cost: a system call.
  void call() noexcept;

  bool offer(worker& seat, std::uint64_t lending) noexcept override;
  bool attend() noexcept override;
  void note_awake() noexcept override;

  /// Returns what it knows of tasks that do not end. Call from any thread.
  const stuck_workers& stuck() const noexcept { return stuck_; }
  /// Returns for how long at least the oldest queued task has waited, to 100 ms; 0 while the supervisor looks at none.
  /// Call from any thread.
  std::chrono::nanoseconds oldest_wait() const noexcept;
  /// Returns whether the engine is short of spare threads now, and how often it was. Call from any thread.
  bool short_of_spares() const noexcept { return shortage_.in_episode(); }
  /// Return what `spare_shortage` does. Call from any thread.
  bool wants_spare(worker_id w, std::uint64_t lending) const noexcept {
    return shortage_.wants_spare(w, lending);
  }
  bool nothing_begins() const noexcept { return shortage_.nothing_begins(); }
  std::uint64_t spare_shortages() const noexcept { return shortage_.episodes(); }

  /// Returns its thread, which is tied as the host allowed at the start; 0 while there is none, or where the system refuses
  /// to tie it. Waits for a thread that has just begun. Call from any thread.
  pid_t tid() const noexcept;
  /// Returns whether the calling thread is it.
  bool is_this_thread() const noexcept;

  /// Ends the supervisor's thread. Call once, from another thread.
  void stop() noexcept;

 private:
  using nanoseconds = std::chrono::nanoseconds;

  /// Whether the supervisor looks at lent seats, and whether any was lent since its last look. Lenders change
  /// `calm` to `called`. The supervisor makes all other changes.
  enum class attention : std::uint8_t { absent, calm, called };

  struct lending_sight {
    std::uint64_t lending = 0;
    monotonic::time_point since;
    bool offered = false;
  };
  void set_words(const profile& settings) noexcept;
  bool watches() const noexcept { return watches_.load(std::memory_order_relaxed); }
  bool wake() noexcept;
  bool start() noexcept;
  bool start_once(std::span<char> why) noexcept;
  void main() noexcept;
  void woken() noexcept;
  std::optional<nanoseconds> look() noexcept;

  std::optional<nanoseconds> look_at_lent(monotonic::time_point now) noexcept;
  bool end_attention() noexcept;

  std::optional<nanoseconds> trim(monotonic::time_point now) noexcept;
  std::optional<nanoseconds> follow_host(monotonic::time_point now) noexcept;

  std::optional<nanoseconds> look_at_workers(monotonic::time_point now) noexcept;
  void look_at_queues(monotonic::time_point now) noexcept;
  bool fall_asleep() noexcept;
  bool any_lent() const noexcept;

  shared& engine_;
  worker_threads& threads_;
  const host_service host_;
  stuck_workers stuck_;

  // Only the supervisor's thread uses these members.
  const std::unique_ptr<lending_sight[]> lent_; // by worker
  nanoseconds lent_interval_{patience};
  bool seen_fresh_ = false;            // the last look found a new lending
  monotonic::time_point last_lending_; // when the last look saw a lending
  std::optional<monotonic::time_point> idle_since_;
  std::optional<monotonic::time_point> trim_at_; // while it is asleep
  monotonic::time_point queues_looked_at_;
  monotonic::time_point followed_at_{monotonic::now()}; // the engine has just read what the host allows
  head_watch heads_;
  spare_shortage shortage_;
  lookout lookout_;

  parker bed_;
  alignas(128) atomic<attention> attention_{attention::absent};
  atomic<bool> attends_{false}; // it looks at lent seats; relaxed, both: `set` tells a late reader
  atomic<std::int64_t> follow_period_ns_{-1}; // -1: never; relaxed, as the others
  atomic<std::int64_t> oldest_since_ns_{
      0}; // since then nothing was taken from some queue; 0: there is none; relaxed: for people
  atomic<bool> watches_{false}; // it looks at workers that are awake; relaxed, as the two above
  atomic<bool> asleep_{true};
  bool naps_ = false; // asleep until its next look; of its thread
  atomic<bool> stopping_{false};
  atomic<bool> started_{false};
  atomic<pid_t> tid_{
      0}; // relaxed: a number; set when its affinity mask is; negative: that is the one of a worker
  mutex starting_;
  bool refused_ = false; // guarded by starting_: the system gave no thread
  thread thread_;        // guarded by starting_
};

} // namespace corewise::detail
