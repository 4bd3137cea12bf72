#include "recording/session.hpp"

#include <algorithm>

namespace corewise::detail {

recording_session::recording_session(std::size_t most)
    : begin_(event_clock::read()),
      end_(begin_),
      most_(most) {
  find_rings();
  for (track& t : tracks_) t.next = t.ring->events.written();
}

recording_session::recording_session(std::size_t most, event_clock::reading since) noexcept
    : begin_(since),
      end_(event_clock::read()),
      most_(most),
      begins_with_rings_(true) {}

/// New rings come before the older ones in their list, so those that are known keep their places here.
void recording_session::find_rings() {
  const thread_ring* const newest = newest_ring();
  std::size_t at = 0;
  for (const thread_ring* r = newest; r != nullptr; r = r->next) ++at;
  const std::size_t known = tracks_.size();
  tracks_.resize(at, {nullptr});
  for (const thread_ring* r = newest; at > known; r = r->next) tracks_[--at].ring = r;
}

bool recording_session::collect() {
  find_rings();
  bool many = false;
  for (track& t : tracks_) {
    if (full()) break;
    const std::size_t before = t.events.size();
    const std::uint64_t from = t.next;
    const event_ring::range got = t.ring->events.copy(from, t.events);
    t.next = got.end;
    if (from != 0 || !begins_with_rings_) lost_ += got.first - from; // else it has asked for what was there
    const std::size_t came = t.events.size() - before;
    many = many || came > event_ring::capacity / 4;
    const std::size_t kept = std::min(came, most_ - size_);
    t.events.resize(before + kept);
    size_ += kept;
  }
  end_ = event_clock::read();
  return many;
}

std::int64_t recording_session::monotonic_ns(std::uint64_t ticks) const noexcept {
  const auto since = static_cast<double>(static_cast<std::int64_t>(ticks - begin_.ticks));
  const auto all_ticks = static_cast<double>(std::max<std::uint64_t>(end_.ticks - begin_.ticks, 1));
  const auto all_ns = static_cast<double>(end_.monotonic_ns - begin_.monotonic_ns);
  return begin_.monotonic_ns + static_cast<std::int64_t>(since * (all_ns / all_ticks));
}

} // namespace corewise::detail
