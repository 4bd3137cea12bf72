#pragma once

#include "books/ledger.hpp"
#include "queues/class_queue.hpp"

#include <corewise/topology/groups.hpp>

#include <array>

namespace corewise::detail {

/// What a worker counts for `worker_metrics`. The seat's thread writes it, and any thread reads it.
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
  book injected;
  book overflowed;
  book spilled;
  book blocking;
  book regained;
  book handed_over;
  book busy_ns;
};

} // namespace corewise::detail
