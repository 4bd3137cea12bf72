#pragma once

#include "idle.hpp"
#include "ledger.hpp"
#include "queues.hpp"
#include "task_clock.hpp"

#include <corewise/engine/metrics.hpp>

namespace corewise {
class runtime;
}

namespace corewise::detail {

/// A seat: a worker's place in the engine, with its queues, its books and its counters. At any time at most
/// one thread sits on it and runs `run`; what is marked *owner* only that thread may call.
class alignas(128) worker {
 public:
  worker(runtime& engine, worker_id id, const queue_memory& memory);

  /// Owner. Runs tasks until the engine stops or a task gives the seat away. True: the seat is still the
  /// caller's.
  bool run();

  /// Owner, from within a task that is about to block. True: the seat is another thread's now, and the rest
  /// of the task runs without one. False: there is no spare thread; the seat stays the caller's and counts as
  /// unavailable until `return_to_work`.
  bool leave() noexcept;
  void return_to_work() noexcept;
  /// Owner. Whether a blocking call around this one keeps the seat already.
  bool blocked() const noexcept;

  /// Owner. The task runs next (in the LIFO slot), or after what waits in the ring where the profile has no slot.
  void push_next(task_header* t) noexcept;
  /// Owner. Puts a task into the own ring; what has no room goes to the group's injection queue.
  void push(task_header* t) noexcept;

  worker_id id() const noexcept { return id_; }
  const worker_place& place() const noexcept;
  worker_queues& queues() noexcept { return queues_; }
  ledger& books() noexcept { return books_; }
  const ledger& books() const noexcept { return books_; }
  placement_rng& rng() noexcept { return rng_; }
  placement_cursor& cursor() noexcept { return cursor_; }
  std::uint64_t task_time_ns() const noexcept { return clock_.average_ns(); }

  /// Owner. Puts the task that runs behind what waits in the ring.
  void give_way(task_header* t) noexcept;
  /// Owner. Whether a task that it submits stays, whatever others have, so that the policy need not be asked.
  bool keeps_its_own() const noexcept;
  /// Owner. Counts a task that was sent out of the domain.
  void count_spill() noexcept { counts_.spilled.add(); }

  /// Any thread: whether the engine has ended and nobody will sit here any more.
  bool has_left() const noexcept { return left_.load(std::memory_order_acquire); } // pairs: left
  /// Owner, as the last thing that it does here, or whoever knows that there is none.
  void note_left() noexcept { left_.store(true, std::memory_order_release); } // pairs: left

  /// Any thread.
  worker_metrics metrics() const noexcept;
  /// Any thread: how long the worker has had work without a pause; nothing while it has none.
  std::optional<std::chrono::nanoseconds> busy_for() const noexcept;
  /// Any thread: what kind of task it ran last (a mangled type or a word; null: none yet), and how long ago the clock
  /// was read last before that began.
  const char* task_kind() const noexcept;
  std::chrono::nanoseconds task_age() const noexcept;

 private:
  task_header* next() noexcept;
  task_header* poll() noexcept;
  task_header* take_next() noexcept;
  void announce_waiting() noexcept;
  task_header* poll_shared(bool due) noexcept;
  task_header* take_inbox(bool batch) noexcept;
  task_header* take_injected(group_id from) noexcept;
  std::uint32_t share_of(std::uint32_t waiting) const noexcept;
  std::uint32_t room() const noexcept;
  task_header* search() noexcept;
  task_header* spin() noexcept;
  task_header* steal(steal_effort effort) noexcept;
  task_header* steal_from(worker& victim, level distance) noexcept;
  std::size_t index_in_group() const noexcept;
  task_header* keep(task_chain taken, std::uint32_t in_front = 0) noexcept;
  void put_in_front(task_chain& taken, std::uint32_t most) noexcept;
  bool in_front() const noexcept;
  void store(task_header* t) noexcept;

  bool execute(task_header* t);
  void begin_work() noexcept;
  void end_work() noexcept;
  void count_poll() noexcept;
  void end_tick(monotonic::time_point now) noexcept;
  void note_task_time() noexcept;
  void note_pushed() noexcept;
  monotonic::time_point read_clock() noexcept;
  std::uint32_t first_look() const noexcept;

  struct counters { // single writer: whoever sits on the seat
    book pushed;
    book next;
    book executed;
    book ticks;
    std::array<book, level_count> stolen;
    book injected;
    book overflowed;
    book spilled;
    book blocking;
    book busy_ns;
  };

  runtime& engine_;
  worker_id id_;
  worker_queues queues_;
  load_slot& slot_;
  placement_rng rng_;
  placement_cursor cursor_;
  task_clock clock_;
  const lifo_count lifo_counts_;

  bool working_ = false;           // between begin_work and end_work
  bool searching_ = false;         // counted as a searcher of the domain
  std::uint32_t polls_ = 0;        // tasks of this tick
  std::uint32_t next_left_ = 0;    // so many may still run from the LIFO slot, as `lifo_counts` counts them
  bool unannounced_ = false;       // a task that gave way is alone in the ring, and nobody was told
  bool slot_watched_ = false;      // somebody looks after the LIFO slot while this worker is at work
  std::uint32_t next_look_ = 1;    // the poll at which the clock is read next
  std::uint32_t until_shared_ = 1; // polls until inbox and injection queue are looked at before the ring
  std::uint32_t interval_;
  bool injection_first_ = true; // when that is due next
  std::uint32_t front_ends_ =
      0; // the place in the ring before which tasks of a batch come before the LIFO slot
  monotonic::time_point tick_began_;
  std::optional<std::uint32_t> keeps_up_to_; // the policy's answer for tasks as long as these
  bool publishes_each_ = true; // tasks are long enough to publish the load at each; else now and then
  std::uint64_t stamp_ = 0;                  // of this tick, for the activity order
  std::atomic<bool (*)(task_header*, task_action)> running_act_{nullptr}; // relaxed: for people
  std::atomic<std::int64_t> clock_ns_{0};      // when the clock was read last; relaxed: for people
  std::atomic<std::int64_t> busy_since_ns_{0}; // 0: not busy; relaxed: a number for people

  std::atomic<bool> left_{false}; // publishes the owner's side of an unbounded inbox

  ledger books_;
  counters counts_;
};

} // namespace corewise::detail
