#pragma once

#include "base/task_clock.hpp"

#include <corewise/engine/detail/task_header.hpp>
#include <corewise/policies/detail/atomic.hpp>
#include <corewise/policies/trace_id.hpp>

#include <sys/types.h>

#include <ctime>
#include <optional>
#include <string>

namespace corewise::detail {

struct execution;

/// A task for people. Empty where it is not known.
struct seen_task {
  std::string kind; ///< in 120 characters at most
  std::string name; ///< `hint::name`
  trace_id id;
};

/// The notes of a worker for people: its task, since when it has work, and its thread. The seat's thread writes
/// it, and any thread reads it. All of it is relaxed: the words are read for people, and one by one.
class worker_report {
 public:
  using act_function = bool (*)(task_header*, task_action);

  // --- for the seat's thread

  void note_task(act_function act) noexcept { act_.store(act, std::memory_order_relaxed); }
  void note_clock(monotonic::time_point now) noexcept {
    clock_ns_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }
  void begin_work(monotonic::time_point now) noexcept {
    const std::int64_t before = busy_before_ns_.load(std::memory_order_relaxed); // own
    busy_.store((before - now.time_since_epoch().count()) * 2 + 1, std::memory_order_relaxed);
  }
  void end_work(monotonic::time_point now) noexcept {
    const std::int64_t all =
        (busy_.load(std::memory_order_relaxed) >> 1) + now.time_since_epoch().count(); // own
    busy_.store(all * 2, std::memory_order_relaxed);
    busy_before_ns_.store(all, std::memory_order_relaxed);
  }
  /// Notes the calling thread as the one that sits down.
  void note_thread() noexcept;

  // --- for any thread

  /// Returns the task that ran last. Cost: some system calls, and for a coroutine a search through the
  /// symbols of its file. Throws `std::bad_alloc`.
  seen_task task() const;
  /// Returns how long ago the worker read the clock last, before or after its task began.
  std::chrono::nanoseconds task_age() const noexcept;
  /// Returns how long the worker has had work without a pause, or nothing while it has none.
  std::optional<std::chrono::nanoseconds> busy_for() const noexcept;
  /// Returns how long the worker has had work, all in all.
  std::chrono::nanoseconds busy() const noexcept;
  /// Return the figure, or what they returned last if that is more: so what is read while it changes never
  /// falls.
  std::chrono::nanoseconds busy_never_less(std::chrono::nanoseconds busy) const noexcept;
  std::uint64_t placed_never_less(std::uint64_t placed) const noexcept;
  /// Returns the kernel's id of the thread that sat down last.
  pid_t thread() const noexcept { return thread_.load(std::memory_order_relaxed); }
  /// Returns the clock of the CPU time that this thread uses.
  clockid_t thread_clock() const noexcept { return thread_clock_.load(std::memory_order_relaxed); }

 private:
  friend struct debugger_layouts;

  static std::uint64_t never_less(atomic<std::uint64_t>& given, std::uint64_t value) noexcept;

  atomic<act_function> act_{nullptr};
  atomic<std::int64_t> clock_ns_{0}; // when the worker read the clock last
  // For how many nanoseconds it was busy, times 2. While it is busy, less the time when that began, and plus 1 in the end.
  // It is one word, so that a reader does not miss the work that ends just then. 62 bits of nanoseconds are 146 years.
  atomic<std::int64_t> busy_{0};
  atomic<std::int64_t> busy_before_ns_{0}; // without the work that has not ended
  // Relaxed: numbers, which only their readers write.
  mutable atomic<std::uint64_t> given_busy_ns_{0};
  mutable atomic<std::uint64_t> given_placed_{0};
  atomic<pid_t> thread_{0};
  atomic<clockid_t> thread_clock_{};
  atomic<const execution*> execution_{nullptr}; // of that thread; for `peek` only
};

} // namespace corewise::detail
