#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace corewise {

/// How urgent a task is. No class starves another; there is no other notion of priority.
enum class task_class : std::uint8_t {
  normal,
  latency,    ///< looked at before each task; the fast cores of a domain prefer it
  background, ///< for when there is nothing else, and once in a while in between; the slow cores prefer it
};
inline constexpr std::size_t class_count = 3;
/// How many classes have a queue of their own.
inline constexpr std::size_t queued_classes = 2;

constexpr std::string_view to_string(task_class c) noexcept {
  switch (c) {
  case task_class::latency: return "latency";
  case task_class::background: return "background";
  case task_class::normal: break;
  }
  return "normal";
}

} // namespace corewise
