// A daemon under load whose host changes what it allows it: bench/following/run starts it and changes the quota, or the
// affinity mask, while it runs. One line for each second: what was done, the response times, and how many workers took part.

#include <corewise/engine/engine.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using namespace corewise;
using clock_type = std::chrono::steady_clock;

namespace {

struct options {
  int seconds = 10;
  double load = 0;           // in CPUs, as requests that come by themselves; 0: as fast as they are done
  double service_us = 200;   // of CPU time for each request
  double rounds_per_us = 0;  // of work; 0: measured
  bool calibrate = false;    // prints that, and ends
  std::uint32_t workers = 0; // 0: automatic
  bool follow = true;
};

options read(int count, char** words) {
  options o;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = words[i];
    if (name == "--seconds")
      o.seconds = std::atoi(words[i + 1]);
    else if (name == "--load")
      o.load = std::atof(words[i + 1]);
    else if (name == "--service-us")
      o.service_us = std::atof(words[i + 1]);
    else if (name == "--rounds-per-us")
      o.rounds_per_us = std::atof(words[i + 1]);
    else if (name == "--calibrate")
      o.calibrate = std::string(words[i + 1]) == "on";
    else if (name == "--workers")
      o.workers = static_cast<std::uint32_t>(std::atoi(words[i + 1]));
    else if (name == "--follow")
      o.follow = std::string(words[i + 1]) == "on";
    else {
      std::fprintf(
          stderr,
          "quota_load: unknown option %s; --seconds --load --service-us --rounds-per-us --calibrate on "
          "--workers --follow on|off\n",
          name.c_str());
      std::exit(2);
    }
  }
  return o;
}

/// Rounds of work that take 1 us of CPU time.
double calibrated() {
  volatile std::uint64_t sink = 0;
  double best = 0;
  for (int i = 0; i < 20; ++i) {
    const auto begin = clock_type::now();
    for (int k = 0; k < 200'000; ++k) sink = sink + 1;
    best = std::max(best,
                    200'000 / std::chrono::duration<double, std::micro>(clock_type::now() - begin).count());
  }
  return best;
}

class response_times {
 public:
  void note(double us) {
    const std::scoped_lock lock(mutex_);
    times_.push_back(us);
  }
  std::vector<double> take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(times_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<double> times_;
};

double quantile(std::vector<double>& times, double q) {
  if (times.empty()) return 0;
  const auto at = times.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(times.size() - 1));
  std::ranges::nth_element(times, at);
  return *at;
}

} // namespace

int main(int count, char** words) {
  const options o = read(count, words);
  const double rounds_per_us = o.rounds_per_us > 0 ? o.rounds_per_us : calibrated();
  if (o.calibrate) return std::printf("%.3f\n", rounds_per_us) > 0 ? 0 : 1;
  const auto rounds = static_cast<long>(rounds_per_us * o.service_us);
  response_times times;
  std::atomic<bool> over{false};
  profile p;
  if (o.workers != 0) p.workers.total = o.workers;
  if (!o.follow) p.topology.follow.kind = follow_setting::mode::off;
  engine e(p);

  const auto work = [&](clock_type::time_point due) {
    volatile std::uint64_t sink = 0;
    for (long k = 0; k < rounds; ++k) sink = sink + 1;
    times.note(std::chrono::duration<double, std::micro>(clock_type::now() - due).count());
  };
  std::function<void()> again = [&] {
    work(clock_type::now());
    if (!over) static_cast<void>(e.submit([&] { again(); }));
  };
  std::thread requests;
  if (o.load == 0) {
    for (int i = 0; i < 16; ++i) static_cast<void>(e.submit([&] { again(); }));
  } else {
    requests = std::thread([&] {
      const auto gap = std::chrono::nanoseconds{static_cast<std::int64_t>(o.service_us * 1000 / o.load)};
      auto due = clock_type::now();
      while (!over) {
        for (; due <= clock_type::now(); due += gap) static_cast<void>(e.submit([&work, due] { work(due); }));
        std::this_thread::sleep_until(due);
      }
    });
  }

  for (int second = 0; second < o.seconds; ++second) {
    std::this_thread::sleep_for(std::chrono::seconds{1});
    std::vector<double> seen = times.take();
    const metrics_snapshot m = e.metrics();
    std::printf("%d done %zu p50_us %.0f p99_us %.0f workers %llu throttled_periods %llu\n", second,
                seen.size(), quantile(seen, .5), quantile(seen, .99),
                static_cast<unsigned long long>(m.total().active),
                static_cast<unsigned long long>(m.throttling.throttled_periods));
    std::fflush(stdout);
  }
  over = true;
  if (requests.joinable()) requests.join();
  static_cast<void>(e.shutdown(std::chrono::seconds{1}));
}
