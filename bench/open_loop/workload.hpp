#pragma once

#include <axes/finish_line.hpp>
#include <contender.hpp>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

// A service whose requests do not wait for each other: Poisson arrivals, nine of ten take 10 us of CPU time
// and one takes 1 ms. The size is the load in per cent of what the workers can do. The figure is the
// response: from the time at which a request was to arrive until its end, however late it was posted. Beside
// it stands the slowdown, which is the response for each us of the service. The posting thread needs some CPU
// time of its own, which on a machine with no more CPUs than workers is theirs.

namespace corewise::bench::open_loop {

constexpr std::uint64_t usual_size = 70;
constexpr std::uint32_t requests = 4'000; // of a round
constexpr std::chrono::microseconds brief{10};
constexpr std::chrono::microseconds lengthy{1000};
constexpr double mean_us = 0.9 * 10 + 0.1 * 1000;

struct request {
  std::chrono::nanoseconds at; ///< from the beginning
  std::chrono::microseconds service;
};

/// SplitMix64, in [0, 1): the same in every language and library.
class draw {
 public:
  explicit draw(std::uint64_t seed = 1) : state_(seed) {}
  double operator()() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

/// The schedule, which is the same for every contender.
inline std::vector<request> schedule_of(const options& o, std::uint32_t count) {
  draw next;
  const double per_us = static_cast<double>(o.workers) * static_cast<double>(o.size) / 100 / mean_us;
  double at_us = 1000;
  std::vector<request> all;
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool is_lengthy = next() < 0.1;
    all.push_back(
        {std::chrono::nanoseconds(static_cast<std::int64_t>(at_us * 1000)), is_lengthy ? lengthy : brief});
    at_us -= std::log(1 - next()) / per_us;
  }
  return all;
}

struct responses {
  std::vector<double> us;
  std::uint64_t seen = 0; ///< that ended
};

template <class Pool>
responses responses_of(Pool& pool, const std::vector<request>& requests_of, double slowed) {
  using clock = std::chrono::steady_clock;
  responses result{std::vector<double>(requests_of.size())};
  command::finish_line end(requests_of.size());
  const auto began = clock::now();
  for (std::size_t i = 0; i < requests_of.size(); ++i) {
    const request& r = requests_of[i];
    std::this_thread::sleep_until(began + r.at);
    pool.post([&end, slowed, due = began + r.at, service = r.service, to = &result.us[i]] {
      work(std::chrono::nanoseconds(static_cast<std::int64_t>(
          static_cast<double>(std::chrono::nanoseconds(service).count()) * slowed)));
      *to = std::chrono::duration<double, std::micro>(clock::now() - due).count();
      end.cross(1);
    });
  }
  result.seen = end.wait();
  return result;
}

inline std::vector<column> slowdowns(const std::vector<double>& responses_us,
                                     const std::vector<request>& requests_of) {
  std::vector<double> values;
  for (std::size_t i = 0; i < responses_us.size(); ++i)
    values.push_back(responses_us[i] / static_cast<double>(requests_of[i].service.count()));
  std::ranges::sort(values);
  return {{"slowdown p50", quantile(values, 0.5)},
          {"slowdown p99", quantile(values, 0.99)},
          {"slowdown p99.9", quantile(values, 0.999)}};
}

template <class Pool> int run(int count, char** words) {
  const options o = options_of(count, words, usual_size);
  ::prctl(PR_SET_TIMERSLACK, 1UL); // 50 us else, as long as the time between two arrivals
  Pool pool(o);
  static_cast<void>(responses_of(pool, schedule_of(o, requests), o.slowed));
  const std::vector<request> schedule = schedule_of(o, o.rounds * requests);
  responses of = responses_of(pool, schedule, o.slowed);
  const std::vector<column> more = slowdowns(of.us, schedule);
  return print_samples({"open_loop-" + std::to_string(o.size), pool.name, "closure", pool.profile()}, o,
                       std::move(of.us), {of.seen, schedule.size()}, more);
}

} // namespace corewise::bench::open_loop
