#pragma once

#include "books/ledger.hpp"
#include "books/like_tasks.hpp"
#include "books/time_book.hpp"
#include "queues/class_queue.hpp"

#include <corewise/topology/groups.hpp>

#include <array>
#include <memory>

namespace corewise::detail {

/// The counts of a worker for `worker_metrics`. The seat's thread writes them, and any thread reads them.
struct worker_counters {
  book pushed;
  book forked;
  book in_place;
  book leapfrogged;
  book lifo_runs;
  std::array<book, queued_classes> of_class;
  book executed;
  book expired;
  book ticks;
  std::array<book, level_count> stolen;
  std::array<atomic<std::uint32_t>, level_count> victims{}; // groups; relaxed: numbers
  book injected;
  book overflowed;
  book spilled;
  book blocking;
  book regained;
  book taken;
  std::array<time_book, class_count> waited; // of samples
  std::array<time_book, class_count> ran;
  std::unique_ptr<like_tasks> alike; // null: speeds are not measured
  time_book timers_late;
  time_book ready_waited;                         // the samples of `waited` that a driver has found
  atomic<std::uint64_t> executed_without_seat{0}; // relaxed: a count

  /// Counts a task that ended, or was suspended, on a thread that has lost the seat. Call from that thread.
  [[gnu::noinline]] void count_without_seat() noexcept {
    executed_without_seat.fetch_add(1, std::memory_order_relaxed);
  }
};

} // namespace corewise::detail
