// A sum over an array that is larger than any cache: each NUMA node holds the part that its own workers add
// up.
#include <corewise/engine/engine.hpp>
#include <corewise/engine/first_touch.hpp>
#include <corewise/engine/parallel_reduce.hpp>

#include <cstdio>
#include <functional>
#include <numeric>
#include <span>

namespace {

corewise::task<double> mean_square(std::size_t size) {
  // The worker that writes a page first has it on its node, and gets the same part again in the loops below.
  auto numbers = co_await corewise::make_first_touch<double>(
      size, [](std::size_t i) { return static_cast<double>(i % 1000) - 499.5; });

  co_await corewise::parallel_for(numbers, [](double& x) { x *= x; });

  const auto sum_of = [](std::span<const double> part) {
    return std::accumulate(part.begin(), part.end(), 0.0);
  };
  const double sum =
      co_await corewise::parallel_reduce(corewise::blocked(numbers), 0.0, sum_of, std::plus<>{});
  co_return sum / static_cast<double>(size);
}

} // namespace

int main() {
  corewise::engine engine;
  std::printf("mean square: %.2f\n", corewise::sync_wait(engine, mean_square(4'000'000)));
}
