// How long it takes to sum many doubles: by `parallel_reduce`, by plain threads that each take an equal part,
// and by one thread. One process measures one of them, so that bench/parallel/run can take turns.
#include <corewise/engine/engine.hpp>
#include <corewise/engine/parallel_for.hpp>
#include <corewise/engine/parallel_reduce.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

using namespace corewise;

namespace {

/// The work on each number: as much as memory allows, or some 5 ns.
double light(double x) { return x; }
double heavy(double x) {
  for (int i = 0; i < 8; ++i) x = x * 0.999 + 0.5;
  return x;
}

template <double (*Each)(double)> double sum_of(std::span<const double> part) {
  std::array<double, 4> sums{}; // so that one addition need not wait for the one before
  std::size_t i = 0;
  for (; i + 4 <= part.size(); i += 4)
    for (std::size_t k = 0; k < 4; ++k) sums[k] += Each(part[i + k]);
  for (; i < part.size(); ++i) sums[0] += Each(part[i]);
  return sums[0] + sums[1] + sums[2] + sums[3];
}

using summation = double (*)(std::span<const double>);

task<double> by_reduce(std::span<const double> all, summation sum) {
  co_return co_await parallel_reduce(blocked(all), 0.0, sum, std::plus<>{});
}

task<double> by_for(std::span<double> all) {
  co_await parallel_for(all, [](double& x) { x = x * 0.5 + 0.5; });
  co_return all.front();
}

/// Sums by threads that are made for each sum: that is some 50 us of 50 ms.
double by_threads(std::span<const double> all, summation sum, std::size_t count) {
  std::vector<double> sums(count);
  std::vector<std::jthread> threads;
  const std::size_t size = all.size() / count;
  for (std::size_t t = 0; t < count; ++t)
    threads.emplace_back(
        [&, t] { sums[t] = sum(t + 1 == count ? all.subspan(t * size) : all.subspan(t * size, size)); });
  threads.clear();
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

double for_by_threads(std::span<double> all, std::size_t count) {
  std::vector<std::jthread> threads;
  const std::size_t size = all.size() / count;
  for (std::size_t t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      for (double& x : t + 1 == count ? all.subspan(t * size) : all.subspan(t * size, size))
        x = x * 0.5 + 0.5;
    });
  threads.clear();
  return all.front();
}

int usage() {
  std::fputs("usage: parallel_sum reduce|for light|heavy corewise|threads|one [SIZE] [ROUNDS]\n", stderr);
  return 2;
}

} // namespace

int main(int count, char** words) {
  if (count < 4 || count > 6) return usage();
  const bool reduce = words[1] == std::string_view("reduce");
  const summation sum = words[2] == std::string_view("heavy") ? sum_of<heavy> : sum_of<light>;
  const std::string_view how = words[3];
  const std::size_t size = count > 4 ? std::strtoull(words[4], nullptr, 10) : 100'000'000;
  const int rounds = count > 5 ? std::atoi(words[5]) : 7;
  if (size == 0 || rounds < 1) return usage();
  std::vector<double> numbers(size, 1.0);
  std::unique_ptr<engine> workers;
  const std::size_t threads = how == "one" ? 1 : std::thread::hardware_concurrency();
  if (how == "corewise") workers = std::make_unique<engine>();
  std::vector<double> seconds;
  double result = 0;
  for (int round = 0; round <= rounds; ++round) { // the first is a warm-up
    const auto began = std::chrono::steady_clock::now();
    if (workers)
      result = sync_wait(*workers, reduce ? by_reduce(numbers, sum) : by_for(numbers));
    else
      result = reduce ? by_threads(numbers, sum, threads) : for_by_threads(numbers, threads);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    if (round != 0) seconds.push_back(took.count());
  }
  std::ranges::sort(seconds);
  std::printf("%.6f %.17g\n", seconds[seconds.size() / 2], result);
}
