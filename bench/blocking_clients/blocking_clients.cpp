// The responses of requests that do not block, beside 200 clients that block: each client, a coroutine, makes
// one call of 5 ms after the other by `run_blocking`. Requests come at random times, 2,000 a second, and take
// 10 us each. The response of a request is the time from the moment at which it was to be submitted to its
// end.
//
//   blocking_clients [SECONDS [ROUNDS]]     of each setting, 2 and 5; the settings take turns
//
// Prints for each setting the median over the rounds of p50, p99 and p99.9 in us, the calls a second, and the
// threads of the process.

#include <corewise/engine/engine.hpp>
#include <corewise/engine/run_blocking.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <random>
#include <thread>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

namespace {

constexpr int clients = 200;
constexpr auto call = 5ms;
constexpr auto request = 10us;
constexpr double requests_a_second = 2'000;

struct setting {
  const char* name;
  int clients;
  std::uint32_t spares_max;
  std::uint32_t max_concurrent;
};
constexpr setting settings[] = {
    {"no clients", 0, 64, 0},
    {"256 spare threads", clients, 256, 0},
    {"64 spare threads", clients, 64, 0},
    {"16 spare threads", clients, 16, 0},
    {"64 spare threads, max_concurrent 32", clients, 64, 32},
    {"16 spare threads, max_concurrent 8", clients, 16, 8},
};

struct result {
  double p50_us;
  double p99_us;
  double p999_us;
  double calls_a_second;
  double threads;
};

task<> block_until(const std::atomic<bool>& over, std::atomic<std::uint64_t>& calls) {
  while (!over.load(std::memory_order_relaxed)) {
    co_await run_blocking([] { std::this_thread::sleep_for(call); });
    calls.fetch_add(1, std::memory_order_relaxed);
  }
}

void work_until(steady::time_point end) {
  while (steady::now() < end) {
  }
}

double threads_of_process() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return static_cast<double>(std::distance(begin(all), end(all)));
}

result measure(const setting& s, std::chrono::duration<double> length, std::uint64_t seed) {
  profile p;
  p.blocking.spares_max = s.spares_max;
  p.blocking.max_concurrent = s.max_concurrent;
  engine e(p);
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> calls{0};
  for (int i = 0; i < s.clients; ++i)
    if (e.submit(block_until(over, calls)) != submit_result::accepted) std::abort();
  std::this_thread::sleep_for(500ms);

  std::mt19937_64 random(seed);
  std::exponential_distribution<double> pause(requests_a_second);
  std::vector<double> responses_us(static_cast<std::size_t>(requests_a_second * length.count()));
  const std::uint64_t calls_before = calls;
  const auto began = steady::now();
  std::chrono::duration<double> at{0};
  for (double& response : responses_us) {
    at += std::chrono::duration<double>(pause(random));
    const auto due = began + std::chrono::duration_cast<steady::duration>(at);
    std::this_thread::sleep_until(due);
    const submit_result r = e.submit([&response, due] {
      work_until(steady::now() + request);
      response = std::chrono::duration<double, std::micro>(steady::now() - due).count();
    });
    if (r != submit_result::accepted) std::abort();
  }
  const std::chrono::duration<double> took = steady::now() - began;
  const std::uint64_t made = calls - calls_before;
  const double threads = threads_of_process();
  over = true;
  e.drain();
  std::ranges::sort(responses_us);
  const auto quantile = [&](double q) {
    return responses_us[static_cast<std::size_t>(q * static_cast<double>(responses_us.size() - 1))];
  };
  return {quantile(.5), quantile(.99), quantile(.999), static_cast<double>(made) / took.count(), threads};
}

double median_of(std::vector<result>& all, double result::* value) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::ranges::nth_element(all, middle, {}, value);
  return (*middle).*value;
}

} // namespace

int main(int count, char** words) {
  const double seconds = count > 1 ? std::strtod(words[1], nullptr) : 2;
  const long rounds = count > 2 ? std::strtol(words[2], nullptr, 10) : 5;
  if (!(seconds > 0) || rounds < 1) {
    std::fprintf(stderr, "usage: blocking_clients [SECONDS [ROUNDS]]\n");
    return 2;
  }
  std::vector<result> results[std::size(settings)];
  for (long round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < std::size(settings); ++i)
      results[i].push_back(
          measure(settings[i], std::chrono::duration<double>(seconds), static_cast<std::uint64_t>(round)));
  std::printf("%-38s %8s %8s %8s %9s %8s\n", "setting", "p50 us", "p99 us", "p99.9 us", "calls/s", "threads");
  for (std::size_t i = 0; i < std::size(settings); ++i)
    std::printf("%-38s %8.0f %8.0f %8.0f %9.0f %8.0f\n", settings[i].name,
                median_of(results[i], &result::p50_us), median_of(results[i], &result::p99_us),
                median_of(results[i], &result::p999_us), median_of(results[i], &result::calls_a_second),
                median_of(results[i], &result::threads));
}
