#pragma once

#include "books/ledger.hpp"

#include <corewise/policies/measured_speeds.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace corewise::detail {

/// How long the tasks of a kind run on one worker, for the first kinds that it has run. One writer, many readers. A reader
/// may see a part of the newest run: it sees the rest at its next look.
class like_tasks {
 public:
  static constexpr std::size_t most_kinds = 32;

  /// Notes a run of a task of that kind, which is not 0.
  void note(std::uintptr_t kind, std::chrono::nanoseconds time) noexcept {
    const std::size_t home = kind / 16 % most_kinds;
    for (std::size_t i = 0; i < most_kinds; ++i) {
      cell& c = cells_[(home + i) % most_kinds];
      const std::uintptr_t here = c.kind.load(std::memory_order_relaxed); // own
      if (here != 0 && here != kind) continue;
      const std::uint64_t log = log_times::log_of(time);
      c.count.add();
      c.sum.add(log);
      c.squares.add(log * log);
      if (here == 0) c.kind.store(kind, std::memory_order_relaxed);
      return;
    }
  }
  /// Calls f(kind, log_times) for each.
  template <class F> void visit(const F& f) const {
    for (const cell& c : cells_)
      if (const std::uintptr_t kind = c.kind.load(std::memory_order_relaxed); kind != 0)
        f(kind, log_times{c.count.read(), c.sum.read(), c.squares.read()});
  }

 private:
  struct cell {
    atomic<std::uintptr_t> kind{0}; // relaxed: a word by itself
    book count;
    book sum;
    book squares;
  };
  std::array<cell, most_kinds> cells_;
};

} // namespace corewise::detail
