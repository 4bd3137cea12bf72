#include "kernels.hpp"

#include "stopwatch.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace corewise::command {

namespace {

constexpr std::uint32_t integer_rounds = 200'000;
constexpr std::size_t line = 16;         // cells of 4 bytes in a cache line
constexpr std::size_t lines = 16 * 1024; // 1 MiB
constexpr std::uint32_t laps = 2;
constexpr std::size_t to_sort = 8 * 1024;

/// Makes one cycle through all lines in random order, by Sattolo's algorithm.
std::vector<std::uint32_t> random_cycle(std::mt19937& random) {
  std::vector<std::uint32_t> order(lines);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = lines - 1; i > 0; --i) std::swap(order[i], order[random() % i]);
  std::vector<std::uint32_t> next(lines * line);
  for (std::size_t i = 0; i < lines; ++i) next[i * line] = order[i] * static_cast<std::uint32_t>(line);
  return next;
}

} // namespace

kernels::kernels() {
  std::mt19937 random(1); // the same for all cores and all runs
  next_ = random_cycle(random);
  numbers_.resize(to_sort);
  for (std::uint32_t& n : numbers_) n = static_cast<std::uint32_t>(random());
}

double kernels::run(std::size_t kernel) {
  const steady_time began = now();
  const std::uint64_t steps = kernel == 0 ? integer_steps() : kernel == 1 ? memory_steps() : branchy_steps();
  return ns_between(began, now()) / static_cast<double>(steps);
}

/// Runs four chains at once, so that wide cores show.
std::uint64_t kernels::integer_steps() {
  std::uint64_t a = result_ | 1;
  std::uint64_t b = a + 1;
  std::uint64_t c = a + 2;
  std::uint64_t d = a + 3;
  for (std::uint32_t i = 0; i < integer_rounds; ++i) {
    a = (a ^ (a >> 7)) * 0x9e3779b97f4a7c15;
    b = (b ^ (b >> 9)) + (a << 3);
    c = (c + (c << 5)) ^ (b >> 11);
    d = (d * 5) + (c ^ i);
  }
  result_ = a + b + c + d;
  return integer_rounds;
}

std::uint64_t kernels::memory_steps() {
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < lines * laps; ++i) at = next_[at];
  result_ = at;
  return lines * laps;
}

/// Sorts: each comparison decides where to go on.
std::uint64_t kernels::branchy_steps() {
  sorted_ = numbers_;
  std::ranges::sort(sorted_);
  result_ = sorted_[numbers_.size() / 2];
  return numbers_.size();
}

} // namespace corewise::command
