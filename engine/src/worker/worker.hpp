#pragma once

#include "books/ledger.hpp"
#include "recording/recording.hpp"
#include "worker/disciplines.hpp"
#include "worker/lender.hpp"
#include "worker/lifo_turns.hpp"
#include "worker/load_publishing.hpp"
#include "worker/policy_answers.hpp"
#include "worker/searcher.hpp"
#include "worker/task_supply.hpp"
#include "worker/tick.hpp"
#include "worker/turn_plan.hpp"
#include "worker/worker_counters.hpp"
#include "worker/worker_report.hpp"

#include <corewise/engine/detail/resumption.hpp>
#include <corewise/engine/driver.hpp>
#include <corewise/engine/metrics.hpp>
#include <corewise/policies/activity.hpp>
#include <corewise/policies/detail/atomic.hpp>
#include <corewise/policies/policy.hpp>

namespace corewise::detail {

class shared;

/// A seat: a worker's place in the engine, with its queues, its books and its counters. At any time at most
/// one thread sits on it and runs `run`: the seat's thread. Only that thread calls these functions, unless
/// stated otherwise.
///
/// The functions of a subject have a file: worker.cpp (the loop), pushing.cpp, forks.hpp, ticks.cpp,
/// driving.cpp, lending.cpp, retiring.cpp.
class alignas(128) worker {
 public:
  worker(shared& engine, worker_id id, const queue_memory& memory);

  /// Runs tasks until the engine ends or a task gives the seat away. Returns whether the seat is still the
  /// caller's.
  [[gnu::hot]] bool run();

  // --- what the seat is. Call from any thread.

  worker_id id() const noexcept { return place_.id; }
  const worker_place& place() const noexcept { return place_; }
  shared& engine() const noexcept { return engine_; }
  worker_queues& queues() noexcept { return supply_.queues(); }
  board_entry& entry() const noexcept { return entry_; }
  const holder<rules>& held_rules() const noexcept { return rules_; }
  const worker_report& report() const noexcept { return report_; }
  /// Returns what says which thread sits on the seat.
  detail::lender& lender() noexcept { return lender_; }
  const detail::lender& lender() const noexcept { return lender_; }

  // --- what the seat's thread notes

  ledger& books() noexcept { return books_; } // any thread may read them
  worker_counters& counts() noexcept { return counts_; }
  worker_report& report() noexcept { return report_; }

  // --- placing what a task submits

  /// Returns the rules that the worker follows, the same from the end of one tick to that of the next.
  const rules& rules_in_force() const noexcept { return *rules_.get(); }
  placement_rng& rng() noexcept { return rng_; }
  placement_cursor& cursor() noexcept { return cursor_; }
  /// Returns how long a task that the worker submits is expected to take.
  std::uint64_t task_time_ns() const noexcept { return answers_.task_time_ns(); }
  /// Returns whether a task that the worker submits stays here, so that the policy need not be asked.
  bool keeps_submitted() const noexcept {
    return answers_.keep([this] { return load(); });
  }
  /// Returns whether a coroutine that is resumed here is queued here.
  bool resumes_here(const coroutine_root& root) const noexcept {
    return answers_.resumptions_return() && root.run_as == task_class::normal;
  }

  // --- pushing (pushing.cpp)

  /// Pushes a task that runs next: into the LIFO slot, or into the ring where the profile has no slot.
  [[gnu::hot]] void push_lifo(task_header* t) noexcept;
  /// Pushes a task into the ring, behind what waits there.
  [[gnu::hot]] void push(task_header* t) noexcept;
  /// Pushes a task that yields into the ring.
  void push_yielded(task_header* t) noexcept { supply_.push_yielded(t); }
  /// Does the same for the coroutine that runs. Returns the one that goes on in its place, on behalf of the
  /// loop, or none: then the loop goes on.
  [[nodiscard]] std::coroutine_handle<> give_way(task_header& waits) noexcept;

  /// Queues a read that may be done when the tasks have run that wait in the ring, as a task that yields. Call where
  /// they wait.
  void queue_again(resumption& coroutine) noexcept; // driving.cpp

  // --- forks (forks.hpp)

  /// Pushes a forked task into the worker's deque. The newest fork runs first, and before the ring. Returns
  /// false if there is no memory for it. Cost: a fence; a system call when a sleeper is woken.
  [[gnu::hot]] bool try_fork(task_header* t) noexcept;
  /// Pushes `count` children at the cost of one, linked by `sibling` from the newest on. Returns false, having
  /// pushed none, if the deque has no room for all; it does not grow.
  [[gnu::hot]] bool try_fork_row(strand& newest, std::uint32_t count) noexcept;
  /// Takes `t`, which the running task has forked, back to run it in place. Returns false if another worker
  /// has taken it, newer forks wait, or other sources are due. Cost: a fence.
  [[gnu::hot]] bool take_back(const task_header* t) noexcept;
  /// Counts a fork that a waiting task has taken from the worker's own deque and runs in place.
  void count_in_place() noexcept;
  /// Counts a fork that a waiting task has taken from another worker's deque and runs.
  void count_leapfrogged() noexcept;
  /// Returns whether the loop would ask another source before the forks and the ring.
  bool others_are_due() const noexcept {
    return plan_.others_are_due(supply_.queues().lifo, supply_.classes().of(task_class::latency));
  }

  // --- events (driving.cpp)

  /// Looks into the driver of group g and hands on what is ready. Returns whether anything was.
  bool poll_driver(group_id g) noexcept;
  /// Does the same with the drivers of all groups to which events may come, from the nearest on.
  bool poll_all_drivers() noexcept;

  // --- lending (lending.cpp)

  /// Lends the seat for a call of the running task that may block. Returns which lending this is. From then
  /// on the caller is not the seat's thread: a spare thread may take the seat at any moment.
  std::uint64_t lend() noexcept;
  /// Takes the seat back, unless a spare thread was quicker: then the rest of the task runs without a seat.
  /// Call from the thread that lent it.
  void regain(std::uint64_t lending) noexcept;
  /// Takes a seat that was lent. Returns whether it is the caller's. Call from a spare thread.
  bool take(std::uint64_t lending) noexcept;

 private:
  // The loop (worker.cpp). `D`: `standard_discipline`, which is empty, or a reference to another one.
  template <class D> [[gnu::hot]] bool run_by(D rules);
  bool leave_seat() noexcept;
  template <class D> [[gnu::hot]] task_header* linger(D rules) noexcept;
  template <class D> [[gnu::hot]] task_header* rest(D rules) noexcept;
  template <class D> [[gnu::hot]] task_header* poll(D rules) noexcept;
  task_header* poll_latency() noexcept;
  template <class D> [[gnu::hot, gnu::noinline]] task_header* poll_due(D rules) noexcept;
  [[gnu::hot]] task_header* poll_slot(standard_discipline rules) noexcept;
  task_header* poll_slot(general_discipline& rules) noexcept;
  void note_found() noexcept {
    if (!working_ || supply_.is_searching()) [[unlikely]]
      leave_idling();
  }
  [[gnu::hot]] void leave_idling() noexcept;
  /// How the turn of a task ended; from `seat_given_away` on, another thread took the seat meanwhile.
  enum class turn_end : std::uint8_t { ended, suspended, seat_given_away, suspended_without_seat };
  [[gnu::hot]] turn_end execute(task_header* t);
  [[gnu::cold, gnu::noinline]] turn_end execute_observed(task_header& t);
  turn_end execute_recorded(task_header& t);

  // pushing.cpp
  [[gnu::hot]] void note_pushed() noexcept;
  std::uint32_t load() const noexcept;
  /// Counts a task that begins without a poll.
  void count_turn() noexcept {
    plan_.count_turn();
    tick_.count_task();
    touch(entry_, tick_.stamp());
  }

  // ticks.cpp
  [[gnu::hot]] void begin_work() noexcept;
  void end_work() noexcept;
  [[gnu::hot]] void look_at_clock() noexcept;
  [[gnu::hot]] void end_tick(monotonic::time_point now) noexcept;
  void note_task_time() noexcept;

  // driving.cpp
  void hand_on(ready_tasks& found, group_id g, bool serves) noexcept;

  // retiring.cpp
  void follow_rules() noexcept;
  void renew_rules() noexcept;

  shared& engine_;
  const atomic<std::uint8_t>& stage_byte_; // of the engine
  const worker_place& place_;
  board_entry& entry_; // of the load board
  holder<rules> rules_;
  task_supply supply_;
  turn_plan plan_;
  lifo_turns lifo_;
  tick tick_;
  load_publishing publishing_;
  policy_answers answers_;
  placement_rng rng_;
  placement_cursor cursor_;
  task_header* rotated_ = nullptr; // taken by `give_way`; the loop's next
  bool retired_ = false;           // under the rules in force
  bool working_ = false;           // between begin_work and end_work
  std::uint32_t queued_again_ = 0; // reads, since the worker last looked for events
  bool noted_awake_ = false;       // the supervisor was told, since the worker slept last
  searcher searcher_;
  worker_report report_;
  detail::lender lender_;
  ledger books_;
  worker_counters counts_;
};

/// Returns what the worker has counted. Call from any thread.
worker_metrics metrics_of(worker& seat) noexcept;
/// Writes to the board whether tasks may be placed on the seat. Call from any thread, after the seat was lent,
/// came back, was retired or was called back.
void show_availability(worker& seat) noexcept;
/// Sends to other workers what a retired one has. Call from its thread.
void send_away(worker& retired) noexcept;

} // namespace corewise::detail
