#include "base/clock.hpp"
#include "books/latency_book.hpp"

#include <corewise/engine/request_meter.hpp>
#include <corewise/policies/detail/atomic.hpp>

namespace corewise {

namespace {

/// How many have begun and are in flight, in one word: so a request finds exactly those that are there, and
/// what is read fits together.
constexpr unsigned in_flight_bits = 20;
constexpr std::uint64_t one_begins = (std::uint64_t{1} << in_flight_bits) + 1;
constexpr std::uint64_t in_flight_of(std::uint64_t word) noexcept {
  return word & ((std::uint64_t{1} << in_flight_bits) - 1);
}

} // namespace

/// All is relaxed: counts.
struct request_meter::books {
  detail::atomic<std::uint64_t> begun_and_in_flight{0};
  detail::atomic<std::uint64_t> found{0};
  detail::atomic<std::uint64_t> failed{0};
  detail::latency_book latencies;
};

request_meter::request_meter(std::uint32_t limit) : limit_(limit), books_(std::make_unique<books>()) {}
request_meter::~request_meter() = default;

request_meter::request request_meter::begin() noexcept {
  const std::uint64_t found =
      in_flight_of(books_->begun_and_in_flight.fetch_add(one_begins, std::memory_order_relaxed));
  books_->found.fetch_add(found, std::memory_order_relaxed);
  return {*this, detail::monotonic::now(), found};
}

void request_meter::end(const request& ended) noexcept {
  const auto now = detail::monotonic::now();
  books_->latencies.add(ended.found_, now - ended.begin_, now);
  if (ended.failed_) books_->failed.fetch_add(1, std::memory_order_relaxed);
  books_->begun_and_in_flight.fetch_sub(1, std::memory_order_relaxed);
}

request_counts request_meter::counts() const noexcept {
  const std::uint64_t word = books_->begun_and_in_flight.load(std::memory_order_relaxed);
  const std::uint64_t begun = word >> in_flight_bits;
  return {.begun = begun,
          .ended = begun - in_flight_of(word),
          .failed = books_->failed.load(std::memory_order_relaxed),
          .found = books_->found.load(std::memory_order_relaxed)};
}

std::optional<std::chrono::nanoseconds> request_meter::latency() const noexcept {
  return books_->latencies.median_near(counts().in_flight(), detail::monotonic::now());
}

} // namespace corewise
