#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace corewise::detail {

/// The events that will happen, the earliest first; of several at one time the first pushed, so that a
/// simulation repeats. A heap of four children a node: half as deep as a binary one, and the children of a
/// node are neighbours.
template <class Event> class event_queue {
 public:
  struct entry {
    std::int64_t time_ns;
    std::uint64_t sequence;
    Event event;
  };

  bool empty() const noexcept { return heap_.empty(); }
  std::size_t size() const noexcept { return heap_.size(); }
  const entry& top() const noexcept { return heap_.front(); }

  /// Pushes an event. `time_ns` is not earlier than that of the last popped event.
  void push(std::int64_t time_ns, const Event& event) {
    entry e{time_ns, next_++, event};
    heap_.push_back(e);
    std::size_t at = heap_.size() - 1;
    while (at != 0) {
      const std::size_t parent = (at - 1) / children;
      if (!before(e, heap_[parent])) break;
      heap_[at] = heap_[parent];
      at = parent;
    }
    heap_[at] = e;
  }

  entry pop() {
    const entry first = heap_.front();
    const entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
    return first;
  }

 private:
  static constexpr std::size_t children = 4;

  static bool before(const entry& a, const entry& b) noexcept {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.sequence < b.sequence;
  }

  /// Puts `e` in place of the top, and moves it down to where it belongs.
  void sink(const entry& e) noexcept {
    std::size_t at = 0;
    for (;;) {
      const std::size_t first = at * children + 1;
      if (first >= heap_.size()) break;
      std::size_t least = first;
      const std::size_t end = std::min(first + children, heap_.size());
      for (std::size_t c = first + 1; c < end; ++c)
        if (before(heap_[c], heap_[least])) least = c;
      if (!before(heap_[least], e)) break;
      heap_[at] = heap_[least];
      at = least;
    }
    heap_[at] = e;
  }

  std::vector<entry> heap_;
  std::uint64_t next_ = 0;
};

} // namespace corewise::detail
