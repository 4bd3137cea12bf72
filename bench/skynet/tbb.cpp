#include "workload.hpp"

#include <contender.hpp>
#include <pools/tbb_pool.hpp>

#include <array>
#include <numeric>

using corewise::bench::skynet::children;

namespace {

std::uint64_t grouped(std::uint64_t first, std::uint64_t leaves) {
  if (leaves == 1) return first;
  const std::uint64_t part = leaves / children;
  std::array<std::uint64_t, children> sums{};
  tbb::task_group group;
  for (std::uint64_t i = 0; i + 1 < children; ++i)
    group.run([&sums, first, part, i] { sums[i] = grouped(first + i * part, part); });
  sums.back() = grouped(first + (children - 1) * part, part);
  group.wait();
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

} // namespace

int main(int count, char** words) {
  using namespace corewise::bench;
  const options o = options_of(count, words, skynet::usual_size);
  const std::uint64_t leaves = skynet::leaves_of(o.size);
  tbb_team team(o);
  return measure({skynet::name, team.name, "closure"}, o, leaves, skynet::result(leaves),
                 [&] { return team.run([&] { return grouped(0, leaves); }); });
}
