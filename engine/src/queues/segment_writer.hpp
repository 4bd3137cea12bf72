#pragma once

#include "queues/injection_queue.hpp"

#include <algorithm>
#include <utility>

namespace corewise::detail {

/// The means by which a thread puts many tasks into injection queues, one after the other. Use by one thread
/// at a time.
class segment_writer {
 public:
  /// A row of so many small tasks takes no more memory in a segment than by themselves.
  static constexpr std::uint32_t long_row = 16;

  segment_writer() = default;
  segment_writer(const segment_writer&) = delete;
  segment_writer& operator=(const segment_writer&) = delete;
  ~segment_writer() { end_segment(); }

  /// Puts `t` behind the tasks that this thread has put into `to`, and gives the block of a small closure
  /// back. A segment begins where a row of tasks to this queue is long enough for it, by the row itself or by
  /// the row before; shorter ones would take more memory in segments than each task alone. So does a task that
  /// is no copy: it goes into a segment that is there, but does not begin one. Cost: a locked instruction; the
  /// queue's lock as well, where a segment begins or ends and where there is none.
  void push(injection_queue& to, task_header* t) noexcept {
    if (into_ != &to) {
      end_segment();
      into_ = &to;
      row_before_ = std::exchange(row_, 0);
    }
    if (row_ < long_row) ++row_;
    if (open_ != nullptr && write(t)) return;
    const bool begins = std::max(row_, row_before_) == long_row && carried_task::copies(t);
    open_ = begins ? task_segment::make(t) : nullptr;
    if (open_ == nullptr) return to.push(t);
    written_ = 1;
    to.push(open_);
  }

  /// Ends the row, so that the next task goes behind all tasks in the queue, also those of other threads. Call before the
  /// queue goes.
  void end_row() noexcept {
    end_segment();
    row_ = row_before_ = 0;
  }

 private:
  void end_segment() noexcept {
    if (task_segment* const s = std::exchange(open_, nullptr)) into_->end(s, written_);
  }
  /// Writes `t` into the open segment. Returns false if the consumer has abandoned the segment.
  bool write(task_header* t) noexcept {
    task_segment* const s = open_;
    const bool written = s->write(t, written_);
    if (!written) task_segment::destroy(s);
    if (!written || ++written_ == task_segment::capacity) open_ = nullptr;
    return written;
  }

  task_segment* open_ = nullptr;
  injection_queue* into_ = nullptr; // the queue into which the last task went, and which holds the segment
  std::uint32_t written_ = 0;
  std::uint32_t row_ = 0; // of the tasks that went there since another queue had one; `long_row` at most
  std::uint32_t row_before_ = 0; // of those that went to that other queue
};

} // namespace corewise::detail
