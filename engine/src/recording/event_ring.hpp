#pragma once

#include <corewise/policies/detail/atomic.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace corewise::detail {

/// The newest events of one thread: that thread writes over the oldest, and any thread reads meanwhile.
///
/// An event is four words. The writer announces event i by `written = i + 1`, and only then writes event
/// i + `capacity` into the same record. So a reader that has seen a word of that one finds `written` above i
/// afterwards, and throws its copy away. tests/model/event_ring.pml proves it.
///
/// | tag     | release site          | acquire site       | publishes          | weakened                   |
/// |---------|-----------------------|--------------------|--------------------|----------------------------|
/// | written | add: store            | copy: first load   | the event's words  | an event is read too early |
/// | word    | add: each word, after | copy: each word,   | the count before   | two events are taken for   |
/// |         | the count before it   | before the 2nd load | that word         | one                        |
class event_ring {
 public:
  using event = std::array<std::uint64_t, 4>;
  static constexpr std::uint64_t capacity = 8192;

  /// Events `first` to `end`, not included, of all that were written.
  struct range {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
  };

  /// Call from the ring's thread. Cost: five stores. The words are written one by one, without a loop: it is called
  /// from functions that are compiled for size.
  [[gnu::always_inline]] void add(const event& e) noexcept {
    const std::uint64_t at = written_.load(std::memory_order_relaxed); // own
    record& to = records_[at % capacity];
    to[0].store(e[0], std::memory_order_release);      // pairs: word
    to[1].store(e[1], std::memory_order_release);      // pairs: word
    to[2].store(e[2], std::memory_order_release);      // pairs: word
    to[3].store(e[3], std::memory_order_release);      // pairs: word
    written_.store(at + 1, std::memory_order_release); // pairs: written
  }

  /// Returns how many events were written. Call from any thread.
  std::uint64_t written() const noexcept {
    return written_.load(std::memory_order_acquire);
  } // pairs: written

  /// Appends a copy of each event from event `from` on that is still there. Returns which ones these are. Call from any
  /// thread. Throws `std::bad_alloc`.
  range copy(std::uint64_t from, std::vector<event>& to) const {
    const std::uint64_t end = written();
    const std::uint64_t oldest = end > capacity ? end - capacity : 0;
    const std::uint64_t first = from > oldest ? from : oldest;
    const std::size_t before = to.size();
    for (std::uint64_t i = first; i < end; ++i) {
      const record& at = records_[i % capacity];
      event& e = to.emplace_back();
      for (std::size_t w = 0; w < e.size(); ++w) e[w] = at[w].load(std::memory_order_acquire); // pairs: word
    }
    const std::uint64_t now = written_.load(std::memory_order_relaxed); // after the words (word)
    const std::uint64_t whole = now >= capacity ? now - capacity + 1 : 0;
    if (whole <= first) return {first, end};
    const std::uint64_t kept = whole < end ? whole : end;
    to.erase(to.begin() + static_cast<std::ptrdiff_t>(before),
             to.begin() + static_cast<std::ptrdiff_t>(before + (kept - first)));
    return {kept, end};
  }

 private:
  using record = std::array<atomic<std::uint64_t>, 4>;

  alignas(64) atomic<std::uint64_t> written_{0};
  alignas(64) std::array<record, capacity> records_{};
};

} // namespace corewise::detail
