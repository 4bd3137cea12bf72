#include "workload.hpp"

#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/when_all.hpp>

#include <contender.hpp>
#include <pools/corewise_pool.hpp>

#include <array>
#include <numeric>

using namespace corewise;
using namespace bench::nqueens;

namespace {

std::uint64_t scoped(const board& b, std::uint64_t n) {
  if (b.rows == n) return 1;
  std::array<std::uint64_t, size_max> sums{};
  blocking_scope s;
  std::uint64_t* sum = sums.data();
  each_next(b, n, [&](const board& next) {
    s.fork([next, n, sum] { *sum = scoped(next, n); });
    ++sum;
  });
  s.wait();
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

task<std::uint64_t> forked(board b, std::uint64_t n) {
  if (b.rows == n) co_return 1;
  bounded_vector<task<std::uint64_t>, size_max> children;
  each_next(b, n, [&](const board& next) { children.push_back(forked(next, n)); });
  const auto sums = co_await when_all(std::move(children));
  co_return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

} // namespace

int main(int count, char** words) {
  using namespace corewise::bench;
  const options o = options_of(count, words, usual_size);
  const found all = search(o.size);
  corewise_pool pool(o);
  const bool coroutines = o.kind == "coroutine";
  return measure({nqueens::name, pool.name, coroutines ? "coroutine" : "closure", pool.profile()}, o,
                 all.boards, all.solutions, [&] {
                   return coroutines ? sync_wait(pool.engine(), forked({}, o.size))
                                     : pool.engine().run([&] { return scoped({}, o.size); }).get();
                 });
}
