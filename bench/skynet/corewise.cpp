#include "workload.hpp"

#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/when_all.hpp>

#include <contender.hpp>
#include <pools/corewise_pool.hpp>

#include <array>
#include <numeric>
#include <ranges>

using namespace corewise;
using bench::skynet::children;

namespace {

std::uint64_t scoped(std::uint64_t first, std::uint64_t leaves) {
  if (leaves == 1) return first;
  const std::uint64_t part = leaves / children;
  std::array<std::uint64_t, children> sums{};
  blocking_scope s;
  for (std::uint64_t i = 0; i + 1 < children; ++i)
    s.fork([&sums, first, part, i] { sums[i] = scoped(first + i * part, part); });
  sums.back() = scoped(first + (children - 1) * part, part);
  s.wait();
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

task<std::uint64_t> forked(std::uint64_t first, std::uint64_t leaves) {
  if (leaves == 1) co_return first;
  const std::uint64_t part = leaves / children;
  const auto child = [=](std::uint64_t i) { return forked(first + i * part, part); };
  const auto sums = co_await when_all<children>(std::views::iota(std::uint64_t{0}, children) |
                                                std::views::transform(child));
  co_return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

} // namespace

int main(int count, char** words) {
  using namespace corewise::bench;
  const options o = options_of(count, words, skynet::usual_size);
  const std::uint64_t leaves = skynet::leaves_of(o.size);
  corewise_pool pool(o);
  const bool coroutines = o.kind == "coroutine";
  return measure({skynet::name, pool.name, coroutines ? "coroutine" : "closure", pool.profile()}, o, leaves,
                 skynet::result(leaves), [&] {
                   return coroutines ? sync_wait(pool.engine(), forked(0, leaves))
                                     : pool.engine().run([&] { return scoped(0, leaves); }).get();
                 });
}
