#pragma once

#include "base/task_clock.hpp"

#include <corewise/topology/binding.hpp>

#include <array>

namespace corewise::detail {

/// Remembers on which memory nodes pages lie, as one thread has asked lately: pages hardly ever move, and
/// asking is a system call. An answer holds for `age_most`, also the answer that the node is unknown (no
/// thread has touched the page). Entries are by page, not by larger regions, which would be wrong where the
/// pages of several threads lie between each other. Use by one thread.
class page_nodes {
 public:
  using question = std::optional<std::uint32_t> (*)(const void*);
  static constexpr std::chrono::milliseconds age_most{100};

  explicit page_nodes(question ask = &node_of_page) noexcept : ask_(ask) {}

  /// Returns the operating system's number of the node that holds `address`, or nothing if it is unknown.
  /// Cost: a look, or a system call.
  std::optional<std::uint32_t> node_of(const void* address, monotonic::time_point now) noexcept {
    const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(address) / page_bytes + 1; // 0: no entry
    entry& e = entries_[page % entries_.size()];
    if (e.page != page || now - e.asked > age_most) e = {page, now, ask_(address)};
    return e.node;
  }

 private:
  struct entry {
    std::uintptr_t page = 0;
    monotonic::time_point asked;
    std::optional<std::uint32_t> node;
  };
  static constexpr std::uintptr_t page_bytes = 4096; // all entries of one larger page are right

  question ask_;
  std::array<entry, 64> entries_{};
};

} // namespace corewise::detail
