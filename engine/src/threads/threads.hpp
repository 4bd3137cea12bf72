#pragma once

#include "base/clock.hpp"
#include "base/parker.hpp"
#include "threads/engine_signals.hpp"
#include "worker/worker.hpp"

#include <corewise/engine/detail/lock.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/topology/binding.hpp>

#include <memory>
#include <thread>
#include <vector>

namespace corewise::detail {

/// The threads of an engine, on seats or spare. A seat is not a thread (design.md, D9): a thread that is
/// about to block lends its seat. If a spare thread takes the seat, the lender becomes spare itself as soon
/// as its task has ended.
///
///     new ──► on a seat ──seat taken──► without a seat ──task ended──► spare ──► on a seat again
///                │                                                     └──keep_alive──► gone
///                └──engine stops──► gone
class worker_threads {
 public:
  /// Makes the object without threads. The threads put `whole` into `this_execution`.
  worker_threads(shared& engine, runtime& whole);
  worker_threads(const worker_threads&) = delete;
  worker_threads& operator=(const worker_threads&) = delete;
  ~worker_threads();

  /// Starts a thread on each seat and waits until all threads sit. Throws `std::system_error`.
  void start(std::shared_ptr<const void> keep);

  /// Calls a spare thread to a lent seat. The spare thread takes the seat if that lending still goes on when
  /// it comes. Returns false if there is no spare thread and no more may be made. Call from any thread. Cost:
  /// a lock and a system call; 20 to 50 us when it makes a thread.
  bool offer(worker& seat, std::uint64_t lending) noexcept;

  /// Ties all threads again, where they are tied at all, to what of their CPUs is among these. Where none is, not even of
  /// the machine's, they stay as the host has tied them. Returns why a thread could not be tied. Call from any thread.
  /// Cost: a system call for each thread.
  refusal tie_to(cpu_set allowed) noexcept;

  /// Makes the spare threads look at the newest rules: those leave that are too many, or have been spare for too long.
  void look_again() noexcept;
  /// Makes the spare threads leave. The threads on seats see for themselves that the engine has ended.
  void stop() noexcept;
  /// Waits until all threads are gone, at most until `limit`, or for 5 s more while none is in a task. Returns the tasks
  /// that still run, and without a kind the threads on seats that were in none. They are left to themselves. Call once.
  std::vector<shutdown_report::running_task> join(monotonic::time_point limit) noexcept;
  /// Returns whether some threads are left to themselves. The last of them drops the suspended tasks.
  bool left_to_themselves() const;

  /// Returns how many threads wait for a seat.
  std::size_t spares() const;
  struct number {
    std::size_t alive;    ///< threads on seats, in tasks without a seat, and spare ones
    std::size_t seatless; ///< of these, in tasks without a seat
    std::size_t most;     ///< as many as the profile allows
  };
  number count() const;

  const engine_signals& signals() const noexcept { return signals_; }

 private:
  struct seat_offer {
    worker* seat = nullptr;
    std::optional<std::uint64_t> lending; // nothing: no thread has sat there yet
  };
  struct thread_record : std::enable_shared_from_this<thread_record> {
    thread handle;
    parker bed;
    seat_offer offered;          // guarded by mutex_
    bool seatless = false;       // guarded by mutex_: its seat is taken, and it is still in the task
    bool leaving = false;        // guarded by mutex_: it was spare, and ends
    bool ended = false;          // guarded by mutex_
    worker* seat = nullptr;      // guarded by mutex_: the seat it sits on, or sat on when its task began
    monotonic::time_point since; // guarded by mutex_: seatless: since when it has been busy
    // Written with the lock by the thread, which may read them without it; other threads write only `on_core`, while
    // it is spare:
    const worker_place* bound_to = nullptr; // the seat for which it was tied last
    bool on_core = false;                   // tied to the core of the seat that it goes to, for the way there
  };

  enum class started : std::uint8_t { yes, enough, refused };

  using record_list = std::vector<std::shared_ptr<thread_record>>;

  /// Starts a thread. Returns `enough` if the engine stops, or if `alive_max` threads live already; `refused`
  /// if the system gives no thread, or no memory for one.
  started start_thread(seat_offer first, std::size_t alive_max) noexcept;
  std::shared_ptr<thread_record> take_spare(seat_offer offered) noexcept;
  void send_to_core(thread_record& spare, const worker_place& place) noexcept;
  void note_seatless(const worker& seat) noexcept;
  void main(thread_record& me);
  bool note_end(thread_record& me) noexcept;
  bool sit(thread_record& me, seat_offer offered);
  void bind(thread_record& me, const worker& seat);
  refusal tie(thread_record& t) noexcept;
  void name(const thread_record& me, const worker_place& place) const;
  seat_offer wait_for_seat(thread_record& me);
  std::size_t staying() const noexcept;
  record_list take_ended() noexcept;

  std::size_t most_threads() const noexcept;

  shared& engine_;
  runtime& whole_;
  const std::size_t seats_;
  const engine_signals signals_;
  std::shared_ptr<const void> keep_; // given to each thread; dropped when stopping
  mutable mutex mutex_;
  cpu_set allowed_; // guarded, as the rest
  condition_variable changed_;
  record_list threads_;
  std::vector<thread_record*> spares_;
  std::size_t alive_ = 0;
  std::size_t seated_ = 0;
  bool stopping_ = false;
  bool left_to_themselves_ = false;
};

} // namespace corewise::detail
