#include "workload.hpp"

#include <contender.hpp>
#include <pools/tbb_pool.hpp>

#include <array>
#include <numeric>

using namespace corewise::bench::nqueens;

namespace {

std::uint64_t grouped(const board& b, std::uint64_t n) {
  if (b.rows == n) return 1;
  std::array<std::uint64_t, size_max> sums{};
  tbb::task_group group;
  std::uint64_t* sum = sums.data();
  each_next(b, n, [&](const board& next) {
    group.run([next, n, sum] { *sum = grouped(next, n); });
    ++sum;
  });
  group.wait();
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

} // namespace

int main(int count, char** words) {
  using namespace corewise::bench;
  const options o = options_of(count, words, usual_size);
  const found all = search(o.size);
  tbb_team team(o);
  return measure({nqueens::name, team.name, "closure"}, o, all.boards, all.solutions,
                 [&] { return team.run([&] { return grouped({}, o.size); }); });
}
