#pragma once

#include "base/task_clock.hpp"
#include "books/ledger.hpp"
#include "idle/idle.hpp"
#include "queues/worker_queues.hpp"
#include "worker/cpu_offers.hpp"
#include "worker/seat_generation.hpp"
#include "worker/turn_plan.hpp"

#include <corewise/engine/detail/resumption.hpp>
#include <corewise/engine/metrics.hpp>
#include <corewise/policies/activity.hpp>
#include <corewise/policies/detail/atomic.hpp>
#include <corewise/policies/policy.hpp>
#include <corewise/policies/shared_work.hpp>

#include <limits>

namespace corewise::detail {

class shared;

/// A seat: a worker's place in the engine, with its queues, its books and its counters. At any time at most
/// one thread sits on it and runs `run`; what is marked *owner* only that thread may call.
class alignas(128) worker {
 public:
  worker(shared& engine, worker_id id, const queue_memory& memory);

  /// Owner. Runs tasks until the engine stops or a task gives the seat away. True: the seat is still the
  /// caller's.
  [[gnu::hot]] bool run();

  /// Owner, from within a task that is about to block. From then on the caller is not the owner: a spare thread may take
  /// the seat at any moment. Answers which lending this is.
  std::uint64_t lend() noexcept;
  /// Who lent it: takes it back, unless a spare thread was quicker. Then the rest of the task runs without a seat.
  void regain(std::uint64_t lending) noexcept;
  /// A spare thread. True: the seat that was lent is the caller's.
  bool take(std::uint64_t lending) noexcept;
  /// Any thread. The lending that is under way; nothing while the seat is held.
  std::optional<std::uint64_t> lending() const noexcept { return generation_.lending(); }
  /// Any thread: tells the board whether tasks may be placed here, after the seat was lent, came back, was retired or was
  /// called back.
  void show_availability() noexcept;

  /// Owner. The task runs next (in the LIFO slot), or after what waits in the ring where the profile has no slot.
  [[gnu::hot]] void push_next(task_header* t) noexcept;
  /// Owner. Puts a task into the own ring; what has no room goes to the group's injection queue.
  [[gnu::hot]] void push(task_header* t) noexcept;

  /// Owner. Puts a forked task into the own deque: it comes before what waits in the ring, the newest first. Cost: a
  /// fence; a system call when a sleeper is woken.
  [[gnu::hot]] void fork(task_header* t) noexcept;
  /// Owner, in a task that has forked `t`: takes it back, to run it itself, unless another has it, newer ones wait, or it is
  /// time that others have their turn. Cost: a fence.
  [[gnu::hot]] bool take_back(const task_header* t) noexcept;
  /// Owner. As `fork`; false: there is no memory for it.
  [[gnu::hot]] bool try_fork(task_header* t) noexcept;
  /// Owner. The position in the deque that the next fork takes.
  std::uint64_t next_fork() const noexcept;
  /// Owner, in a task that waits. The newest of what was forked since that position was the next one, or null.
  task_header* take_fork_since(std::uint64_t first) noexcept;
  /// Owner, in a task that waits. The oldest of another's deque if it lies there or above, or null.
  task_header* steal_fork_since(worker& from, std::uint64_t first) noexcept;
  /// Owner, in a task that waits: it runs one that it took in one of these ways.
  void count_in_place() noexcept;
  void count_leapfrogged() noexcept;
  /// Owner. Whether a long task of class c should fork a part of itself. Cost: a load.
  bool lacks_forks(task_class c) const noexcept;
  /// Owner. Whether the loop would come to others before what it has itself, or to what comes before its ring and its forks.
  bool others_are_due() const noexcept {
    return plan_.others_are_due(queues_.next, classes_.of(task_class::latency));
  }
  /// Any thread. The oldest task in the deque, or null.
  static task_header* steal_fork(worker_queues& from) noexcept;

  worker_id id() const noexcept { return id_; }
  /// Any thread: what the engine's workers share.
  shared& engine() const noexcept { return engine_; }
  const worker_place& place() const noexcept;
  worker_queues& queues() noexcept { return queues_; }
  ledger& books() noexcept { return books_; }
  const ledger& books() const noexcept { return books_; }
  placement_rng& rng() noexcept { return rng_; }
  placement_cursor& cursor() noexcept { return cursor_; }
  /// Owner. What it goes by, the same from the end of one tick to that of the next.
  const rules& by() const noexcept { return *by_.get(); }
  const holder<rules>& held_rules() const noexcept { return by_; }
  /// Owner. How long what it submits may be expected to take.
  std::uint64_t task_time_ns() const noexcept { return task_time_ns_; }

  /// Owner. Whether a coroutine that goes on here is queued here.
  bool takes_back(const coroutine_root& root) const noexcept {
    return resumptions_return_ && root.run_as == task_class::normal;
  }
  bool takes_back(const resumption& place) const noexcept { return takes_back(*place.root); }
  /// Owner. Puts a task that gives way behind what waits in the ring.
  [[gnu::noinline]] void queue_up(task_header* t) noexcept;
  /// Owner. The same for the coroutine that runs. Answers the one that goes on in its place, on behalf of the loop, or none: the
  /// loop goes on.
  [[nodiscard]] std::coroutine_handle<> give_way(task_header& waits) noexcept;
  /// Owner. Whether a task that it submits stays, whatever others have, so that the policy need not be asked.
  bool keeps_its_own() const noexcept {
    return keeps_up_to_ && (*keeps_up_to_ == whatever_waits || keeps_one_more());
  }
  /// Owner. Counts a task that was sent out of the domain.
  void count_spill() noexcept { counts_.spilled.add(); }

  /// Owner. Counts a task whose deadline had passed before it began.
  void count_expired() noexcept { counts_.expired.add(); }

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
  /// Any thread: whether a task runs on the seat.
  bool runs() const noexcept { return slot_.owner.running.load(std::memory_order_relaxed) != 0; }

  /// The thread that sits down here.
  void note_thread() noexcept;
  /// Any thread: the one that sat down here last, for the kernel, and the clock of what it uses of CPUs.
  pid_t thread() const noexcept { return thread_.load(std::memory_order_relaxed); }
  clockid_t thread_clock() const noexcept { return thread_clock_.load(std::memory_order_relaxed); }

 private:
  [[gnu::hot]] task_header* linger() noexcept;
  [[gnu::hot]] task_header* rest() noexcept;
  [[gnu::hot]] task_header* poll() noexcept;
  task_header* poll_latency() noexcept;
  [[gnu::hot]] task_header* poll_due() noexcept;
  [[gnu::hot]] task_header* poll_behind_ring() noexcept;
  void found() noexcept {
    if (!working_ || searching_) [[unlikely]]
      leave_idling();
  }
  [[gnu::hot]] void leave_idling() noexcept;
  task_header* take_class(domain_classes& from, task_class c) noexcept;
  [[gnu::hot]] task_header* take_next() noexcept;
  [[gnu::hot]] task_header* take_fork() noexcept;
  task_header* poll_ring() noexcept;
  void announce_waiting() noexcept;
  [[gnu::hot]] task_header* poll_shared(bool due) noexcept;
  [[gnu::hot]] task_header* take_inbox(bool batch) noexcept;
  task_header* take_oldest() noexcept;
  task_header* take_injected(group_id from) noexcept;
  std::uint32_t share_of(std::uint32_t waiting) const noexcept;
  std::uint32_t room() const noexcept;
  [[gnu::hot]] task_header* search() noexcept;
  [[gnu::hot]] task_header* spin() noexcept;
  void wait_a_little(monotonic::time_point now) noexcept;
  task_header* look_around(steal_effort effort) noexcept;
  task_header* take_suited(task_class c, steal_effort effort) noexcept;
  task_header* take_far_class() noexcept;
  task_header* steal(steal_effort effort) noexcept;
  task_header* steal_from(worker& victim, level distance) noexcept;
  void note_stolen(worker& victim, level distance, std::uint32_t tasks) noexcept;
  std::size_t index_in_group() const noexcept;
  [[gnu::hot]] task_header* keep(task_chain taken, std::uint32_t in_front = 0) noexcept;
  void put_in_front(task_chain& taken, std::uint32_t most) noexcept;
  bool in_front() const noexcept;
  /// A task was begun without the loop.
  void count_turn() noexcept {
    plan_.count_turn();
    ++polls_;
    touch(slot_, stamp_);
  }
  bool keeps_one_more() const noexcept;
  bool rotates() const noexcept;
  void store(task_header* t) noexcept {
    if (!queues_.ring.push(t)) overflow(t);
  }
  void overflow(task_header* t) noexcept;

  [[gnu::hot]] bool execute(task_header* t);
  [[gnu::hot]] void publish_load() noexcept;
  [[gnu::hot]] void begin_work() noexcept;
  void begin_tick(monotonic::time_point now) noexcept;
  void end_work() noexcept;
  [[gnu::hot]] void look_at_clock() noexcept;
  [[gnu::hot]] void end_tick(monotonic::time_point now) noexcept;
  void note_task_time() noexcept;
  [[gnu::hot]] void note_pushed() noexcept;
  monotonic::time_point read_clock() noexcept;
  void go_by_rules() noexcept;
  void keep_up() noexcept;
  void leave_next() noexcept;
  void hand_over() noexcept;

  /// The policy's answer where tasks are short: no load is more, so none is added up.
  static constexpr std::uint32_t whatever_waits = std::numeric_limits<std::uint32_t>::max();

  struct counters { // single writer: whoever sits on the seat
    book pushed;
    book forked;
    book in_place;
    book leapfrogged;
    book next;
    std::array<book, queued_classes> of_class;
    book executed;
    book expired;
    book ticks;
    std::array<book, level_count> stolen;
    book injected;
    book overflowed;
    book spilled;
    book blocking;
    book regained;
    book handed_over;
    book busy_ns;
  };

  shared& engine_;
  worker_id id_;
  worker_queues queues_;
  load_slot& slot_;
  domain_classes& classes_; // of its domain
  placement_rng rng_;
  placement_cursor cursor_;
  task_clock clock_;
  holder<rules> by_;

  bool retired_ = false;   // under the rules that it goes by
  bool working_ = false;   // between begin_work and end_work
  bool searching_ = false; // counted as a searcher of the domain
  bool steals_ = false;    // in this search: others count on what it finds
  cpu_offers offers_;      // while it waits for work
  std::array<bool, queued_classes>
      handed_{}; // it has woken somebody for such a task since it began to search
  turn_plan plan_;
  sole_taker takers_;           // among what only the worker reads and writes, for it is written at each task
  std::uint32_t polls_ = 0;     // tasks of this tick
  std::uint32_t next_left_ = 0; // so many may still run from the LIFO slot, as `lifo_counts` counts them
  std::uint32_t next_row_ = 0;  // so many again after a task from elsewhere
  task_header* came_round_ = nullptr; // taken already; the loop's next
  bool unannounced_ = false;          // a task that gave way is alone in the ring, and nobody was told
  std::uint32_t lingered_at_ = 0;     // so many it had taken from its inbox when it lingered last
  bool slot_watched_ = false;         // somebody looks after the LIFO slot while this worker is at work
  std::uint32_t next_look_ = 1;       // the poll at which the clock is read next
  std::uint32_t front_ends_ =
      0; // the place in the ring before which tasks of a batch come before the LIFO slot
  monotonic::time_point tick_began_;
  std::optional<std::uint32_t> keeps_up_to_; // the policy's answer for tasks as long as these
  std::uint64_t task_time_ns_ = 0;
  std::optional<std::uint64_t> group_time_ns_; // when that was found; nothing: before these rules
  bool publishes_each_ = true; // tasks are long enough to publish the load at each; else now and then
  bool publishes_next_ = true;
  bool resumptions_return_ = true;                                   // says the policy
  std::uint64_t stamp_ = 0;                                          // of this tick, for the activity order
  atomic<bool (*)(task_header*, task_action)> running_act_{nullptr}; // relaxed: for people
  atomic<std::int64_t> clock_ns_{0};      // when the clock was read last; relaxed: for people
  atomic<std::int64_t> busy_since_ns_{0}; // 0: not busy; relaxed: a number for people

  seat_generation generation_;
  bool calls_are_long_ = false; // the blocking call that was timed last was a long one
  std::uint32_t calls_ = 0;     // short ones
  monotonic::time_point lent_at_;
  bool noted_awake_ = false; // the supervisor was told, since the worker slept last
  atomic<pid_t> thread_{0};  // relaxed, both: for people
  atomic<clockid_t> thread_clock_{};

  atomic<bool> left_{false}; // publishes the owner's side of an unbounded inbox

  ledger books_;
  counters counts_;
};

} // namespace corewise::detail
