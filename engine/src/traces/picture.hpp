#pragma once

#include <corewise/engine/trace.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace corewise::detail {

/// A trace as it is drawn: slices that nest on each thread's track, points, counters, and arrows whose two ends are there.
struct trace_mark {
  enum class sort : std::uint8_t { begin, end, point, counter };

  std::chrono::nanoseconds at{0};
  std::uint64_t leads = 0;                ///< the arrow that begins here; 0: none
  std::array<std::uint64_t, 2> arrives{}; ///< the arrows that end here
  std::int64_t value = 0;                 ///< of a counter
  std::uint32_t thread = 0;               ///< of a counter: the worker
  std::uint32_t name = 0;                 ///< of a slice and a point: its place in `trace_picture::names`
  sort what = sort::point;
};

struct trace_picture {
  explicit trace_picture(const engine_trace& of);

  std::vector<std::string> names;     ///< those of the trace's texts first, in UTF-8
  std::vector<trace_mark> marks;      ///< in the order of their times
  std::vector<std::uint32_t> workers; ///< those that have counters
  std::string missing;                ///< what the trace has not, for its reader; empty: it has all
};

} // namespace corewise::detail
