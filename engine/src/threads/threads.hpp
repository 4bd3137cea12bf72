#pragma once

#include "base/clock.hpp"
#include "base/parker.hpp"
#include "worker/worker.hpp"

#include <corewise/engine/detail/lock.hpp>
#include <corewise/engine/engine.hpp>

#include <memory>
#include <thread>
#include <vector>

namespace corewise::detail {

/// The threads of an engine, on seats or spare. A seat is not a thread (design.md, D9): a thread that is about to
/// block lends its seat, and when a spare one has taken it becomes spare itself as soon as its task has ended.
///
///     new ──► on a seat ──seat taken──► without a seat ──task ended──► spare ──► on a seat again
///                │                                                     └──keep_alive──► gone
///                └──engine stops──► gone
class worker_threads {
 public:
  /// `whole` is what this_execution names.
  worker_threads(shared& engine, runtime& whole) noexcept;
  worker_threads(const worker_threads&) = delete;
  worker_threads& operator=(const worker_threads&) = delete;
  ~worker_threads();

  /// Starts a thread on each seat and waits until all sit. Throws `std::system_error`.
  void start(std::shared_ptr<const void> keep);

  /// Calls a spare thread, which takes the seat if that lending is still under way when it comes. False: there is none
  /// and no more may be made. Any thread. Cost: a lock and a system call; when a thread is made 20 to 50 us.
  bool offer(worker& seat, std::uint64_t lending) noexcept;

  /// Spare threads leave; those on seats see for themselves that the engine has ended.
  void stop() noexcept;
  /// Waits until all threads are gone, at most until `limit`; answers those that still run a task. They are
  /// left to themselves. Once.
  std::vector<shutdown_report::running_task> join(monotonic::time_point limit);
  /// Whether some are. Then the last of them drops who is suspended.
  bool left_to_themselves() const;

  /// Threads without a seat, waiting for one.
  std::size_t spares() const;

 private:
  struct seat_offer {
    worker* seat = nullptr;
    std::optional<std::uint64_t> lending; // nothing: nobody has sat there yet
  };
  struct thread_record : std::enable_shared_from_this<thread_record> {
    thread handle;
    parker bed;
    seat_offer offered;          // guarded by mutex_
    bool seatless = false;       // guarded by mutex_: its seat was taken and it is still in the task
    bool ended = false;          // guarded by mutex_
    worker* seat = nullptr;      // guarded by mutex_: the seat it sits on, or sat on when its task began
    monotonic::time_point since; // guarded by mutex_: seatless: since when it has been busy
    // The thread's own, and guarded by mutex_ while it is spare:
    std::optional<group_id> bound_to;
    std::optional<std::uint32_t> bound_core;
    bool on_core = false; // tied to the core of the seat that it was called to, for its way there
  };

  /// False: the engine stops, there are `alive_max` threads already, or the system gives no more.
  bool start_thread(seat_offer first, std::size_t alive_max) noexcept;
  std::shared_ptr<thread_record> take_spare(seat_offer offered) noexcept;
  void send_to_core(thread_record& spare, const worker_place& place) noexcept;
  void note_seatless(const worker& seat) noexcept;
  void main(thread_record& me);
  bool leave(thread_record& me) noexcept;
  bool sit(thread_record& me, seat_offer offered);
  void bind(thread_record& me, const worker& seat);
  seat_offer wait_for_seat(thread_record& me);
  void reap() noexcept;

  shared& engine_;
  runtime& whole_;
  const std::size_t seats_;
  std::shared_ptr<const void> keep_; // given to each thread; dropped when stopping
  mutable mutex mutex_;
  condition_variable changed_;
  std::vector<std::shared_ptr<thread_record>> threads_;
  std::vector<thread_record*> spares_;
  std::size_t alive_ = 0;
  std::size_t seated_ = 0;
  bool stopping_ = false;
  bool left_to_themselves_ = false;
};

} // namespace corewise::detail
