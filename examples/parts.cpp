// A known number of parts: `when_all<10>` keeps the children and their values in the coroutine's own frame, and
// allocates nothing.
#include <corewise/engine/engine.hpp>
#include <corewise/engine/when_all.hpp>

#include <algorithm>
#include <cstdio>
#include <ranges>
#include <span>
#include <vector>

using corewise::task;

namespace {

/// Finds the least number: each of ten parts finds its own first.
task<int> least(std::span<const int> numbers) {
  const std::size_t size = numbers.size() / 10;
  const auto least_of_part = [=](std::size_t i) -> task<int> {
    co_return *std::ranges::min_element(numbers.subspan(i * size, size));
  };
  const auto parts = std::views::iota(std::size_t{0}, std::size_t{10}) | std::views::transform(least_of_part);
  const auto least_of_parts = co_await corewise::when_all<10>(parts);
  co_return *std::ranges::min_element(least_of_parts);
}

} // namespace

int main() {
  std::vector<int> numbers(1'000'000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>((i * 7919) % 1'000'003) + 5;
  corewise::engine engine;
  std::printf("the least is %d\n", corewise::sync_wait(engine, least(numbers)));
}
