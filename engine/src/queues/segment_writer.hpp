#pragma once

#include "queues/injection_queue.hpp"

namespace corewise::detail {

/// The means by which a thread puts many tasks into injection queues, one after the other. Use by one thread
/// at a time.
class segment_writer {
 public:
  segment_writer() = default;
  segment_writer(const segment_writer&) = delete;
  segment_writer& operator=(const segment_writer&) = delete;
  ~segment_writer() { end(); }

  /// Puts `t` behind the tasks that this thread has put into `to`, and gives the block of a small closure
  /// back. A task that is no copy goes into a segment that is there, but does not begin one: a segment would
  /// take more memory than the task alone. Cost: a locked instruction; the queue's lock as well, where a
  /// segment begins and where there is none.
  void push(injection_queue& to, task_header* t) noexcept {
    if (into_ != &to) end();
    if (open_ != nullptr && write(t)) return;
    open_ = carried_task::copies(t) ? task_segment::make(t) : nullptr;
    if (open_ == nullptr) return to.push(t);
    into_ = &to;
    written_ = 1;
    to.push(open_);
  }

  /// Ends the segment, so that the next task goes behind all tasks in the queue, also those of other threads.
  void end() noexcept {
    task_segment* const s = std::exchange(open_, nullptr);
    if (s != nullptr && !s->end(written_)) task_segment::destroy(s);
  }

 private:
  /// Writes `t` into the open segment. Returns false if the consumer has abandoned the segment.
  bool write(task_header* t) noexcept {
    task_segment* const s = open_;
    const bool written = s->write(t, written_);
    if (!written) task_segment::destroy(s);
    if (!written || ++written_ == task_segment::capacity) open_ = nullptr;
    return written;
  }

  task_segment* open_ = nullptr;
  injection_queue* into_ = nullptr; // the queue that holds the segment
  std::uint32_t written_ = 0;
};

} // namespace corewise::detail
