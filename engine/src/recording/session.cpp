#include "recording/session.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace corewise::detail {

recording_session::recording_session(engine_number of, std::size_t most)
    : of_(of),
      begin_(event_clock::read()),
      end_(begin_),
      most_(most) {
  find_rings();
  for (track& t : tracks_) t.next = t.ring->events.written();
}

recording_session::recording_session(engine_number of, event_clock::reading since) noexcept
    : of_(of),
      begin_(since),
      end_(event_clock::read()),
      most_(SIZE_MAX),
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
    many = many || t.events.size() - before > event_ring::capacity / 4;
    const auto of_another = [this](const event_ring::event& e) {
      return event_head::of(e[1]).engine != of_.value();
    };
    const auto others =
        std::remove_if(t.events.begin() + static_cast<std::ptrdiff_t>(before), t.events.end(), of_another);
    t.events.erase(others, t.events.end());
    const std::size_t came = t.events.size() - before;
    const bool asked = from != 0 || !begins_with_rings_; // else it has asked for what was there
    if (asked && !t.events.empty()) lost_ += got.first - from;
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
