// Divide and conquer: each part forks two smaller ones, and goes on when both have ended. Idle workers take
// the oldest and so the largest parts; a part that no worker takes runs where it was forked, at little more
// than the cost of a call.
#include <corewise/engine/engine.hpp>
#include <corewise/engine/scope.hpp>
#include <corewise/engine/when_all.hpp>

#include <algorithm>
#include <cstdio>
#include <random>
#include <span>
#include <vector>

using corewise::task;

namespace {

task<long> fib(int n) {
  if (n < 2) co_return n;
  auto [a, b] = co_await corewise::when_all(fib(n - 1), fib(n - 2));
  co_return a + b;
}

task<> merge_sort(std::span<int> numbers, std::span<int> room) {
  constexpr std::size_t small = 1024; // about 20 us: for less work a fork does not pay
  if (numbers.size() <= small) {
    std::sort(numbers.begin(), numbers.end());
    co_return;
  }
  const std::size_t half = numbers.size() / 2;
  co_await corewise::when_all(merge_sort(numbers.first(half), room.first(half)),
                              merge_sort(numbers.subspan(half), room.subspan(half)));
  std::merge(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(half),
             numbers.begin() + static_cast<std::ptrdiff_t>(half), numbers.end(), room.begin());
  std::copy(room.begin(), room.end(), numbers.begin());
}

/// Checks each part on a worker; the first that fails stops the others.
task<bool> all_sorted(std::span<const int> numbers, std::size_t parts) {
  const auto check = [](std::span<const int> part, std::stop_token stop) -> task<> {
    if (!stop.stop_requested() && !std::is_sorted(part.begin(), part.end())) throw part.front();
    co_return;
  };
  try {
    co_await corewise::in_scope([&](corewise::scope& s) -> task<> {
      const std::size_t size = numbers.size() / parts + 1;
      for (std::size_t at = 0; at < numbers.size(); at += size) // each with the first number of the next
        s.fork(check(numbers.subspan(at, std::min(size + 1, numbers.size() - at)), s.stop_token()));
      co_return;
    });
  } catch (int) {
    co_return false;
  }
  co_return true;
}

} // namespace

int main() {
  corewise::engine engine;
  std::printf("fib(25) is %ld\n", corewise::sync_wait(engine, fib(25)));

  std::vector<int> numbers(1'000'000);
  std::mt19937 random(7);
  std::generate(numbers.begin(), numbers.end(), std::ref(random));
  std::vector<int> room(numbers.size());
  std::printf("sorted before: %s\n", sync_wait(engine, all_sorted(numbers, 8)) ? "yes" : "no");
  corewise::future<void> sorting = engine.run(merge_sort(numbers, room));
  sorting.get();
  std::printf("sorted after: %s\n", sync_wait(engine, all_sorted(numbers, 8)) ? "yes" : "no");
}
