#pragma once

#include "books/ledger.hpp"

#include <corewise/engine/metrics.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>

namespace corewise::detail {

/// A histogram with one writer and many readers.
class time_book {
 public:
  void add(std::chrono::nanoseconds time) noexcept {
    const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 1));
    const auto bound = static_cast<std::size_t>(std::bit_width((ns - 1) / 1000));
    counts_[std::min(bound, time_histogram::bounds)].add();
    sum_ns_.add(ns);
  }
  time_histogram read() const noexcept {
    time_histogram seen;
    for (std::size_t i = 0; i < counts_.size(); ++i) seen.counts[i] = counts_[i].read();
    seen.sum = std::chrono::nanoseconds{static_cast<std::int64_t>(sum_ns_.read())};
    return seen;
  }

 private:
  std::array<book, time_histogram::bounds + 1> counts_;
  book sum_ns_;
};

} // namespace corewise::detail
