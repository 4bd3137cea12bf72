#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace corewise {

/// The counts of a `request_meter` since it was made.
struct request_counts {
  std::uint64_t begun = 0;
  std::uint64_t ended = 0;  ///< the failed ones among them
  std::uint64_t failed = 0; ///< ended, and `fail` was called
  std::uint64_t found = 0;  ///< how many were in flight when one began, summed over the begun ones

  std::uint64_t in_flight() const noexcept { return begun - ended; }
};

/// Counts the requests of a server, and remembers how long they took while how many were in flight. A
/// balancer that probes asks for both, and sends its next request where the latency is low. Source: Wydrowski
/// et al., *Load is not what you should balance: Introducing Prequal*, NSDI 2024.
///
///     auto here = meter.begin();
///     co_await answer(...); // the request ends with `here`
///
/// Call any member from any thread. Memory: 11 KB, whatever comes. At most a million requests are in flight.
class request_meter {
 public:
  /// `limit`: how many requests the server can work on at once, where something other than CPUs limits it: its
  /// connections to a database, say. It counts towards `load_report::utilization`. 0: nothing known.
  explicit request_meter(std::uint32_t limit = 0);
  request_meter(const request_meter&) = delete;
  request_meter& operator=(const request_meter&) = delete;
  /// No request may be in flight.
  ~request_meter();

  /// A request, from its beginning until the object goes. One thread at a time uses it.
  class [[nodiscard]] request {
   public:
    request(request&& other) noexcept
        : meter_(std::exchange(other.meter_, nullptr)),
          begin_(other.begin_),
          found_(other.found_),
          failed_(other.failed_) {}
    request& operator=(request&&) = delete;
    ~request() {
      if (meter_ != nullptr) meter_->end(*this);
    }
    /// Counts the request as an error of the server.
    void fail() noexcept { failed_ = true; }

   private:
    friend class request_meter;
    request(request_meter& of, std::chrono::steady_clock::time_point begin, std::uint64_t found) noexcept
        : meter_(&of),
          begin_(begin),
          found_(found) {}

    request_meter* meter_;
    std::chrono::steady_clock::time_point begin_;
    std::uint64_t found_;
    bool failed_ = false;
  };

  /// Counts a request that begins now. Cost: a look at the clock, and two locked instructions; at its end
  /// as much again.
  request begin() noexcept;

  request_counts counts() const noexcept;
  std::uint32_t limit() const noexcept { return limit_; }
  /// Returns the median of the last latencies of requests that found about as many others in flight as there
  /// are now. It takes at least four of the last 10 s, those with the nearest numbers in flight. Nothing:
  /// none ended. Cost: some 100 ns; up to 2 us where the nearest are far.
  std::optional<std::chrono::nanoseconds> latency() const noexcept;

 private:
  void end(const request& ended) noexcept;

  struct books;
  const std::uint32_t limit_;
  const std::unique_ptr<books> books_;
};

} // namespace corewise
