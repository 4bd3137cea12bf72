#pragma once

#include "queues/injection_queue.hpp"

namespace corewise::detail {

/// A thread's way into injection queues, for many tasks one after the other. One thread at a time.
class segment_writer {
 public:
  segment_writer() = default;
  segment_writer(const segment_writer&) = delete;
  segment_writer& operator=(const segment_writer&) = delete;
  ~segment_writer() { end(); }

  /// Behind what this thread has put there. The block of a small closure is given back. What is no copy goes into a segment that
  /// is there, but begins none: it would take more memory than the task alone. Cost: a locked instruction; where a segment
  /// begins, and without one, the queue's lock.
  void push(injection_queue& to, task_header* t) noexcept {
    if (into_ != &to) end();
    if (open_ != nullptr && write(t)) return;
    open_ = carried_task::copies(t) ? task_segment::make(t) : nullptr;
    if (open_ == nullptr) return to.push(t);
    into_ = &to;
    written_ = 1;
    to.push(open_);
  }

  /// What comes next goes behind all that is there, also that of others.
  void end() noexcept {
    task_segment* const s = std::exchange(open_, nullptr);
    if (s != nullptr && !s->end(written_)) task_segment::destroy(s);
  }

 private:
  /// False: nobody would take it from there any more.
  bool write(task_header* t) noexcept {
    task_segment* const s = open_;
    const bool written = s->write(t, written_);
    if (!written) task_segment::destroy(s);
    if (!written || ++written_ == task_segment::capacity) open_ = nullptr;
    return written;
  }

  task_segment* open_ = nullptr;
  injection_queue* into_ = nullptr; // where it is
  std::uint32_t written_ = 0;
};

} // namespace corewise::detail
