#include "workload.hpp"

#include <contender.hpp>
#include <pools/tbb_pool.hpp>

namespace {

std::uint64_t grouped(std::uint64_t n) {
  if (n < 2) return n;
  std::uint64_t a = 0;
  tbb::task_group group;
  group.run([&] { a = grouped(n - 1); });
  const std::uint64_t b = grouped(n - 2);
  group.wait();
  return a + b;
}

} // namespace

int main(int count, char** words) {
  using namespace corewise::bench;
  const options o = options_of(count, words, fib::usual_size);
  tbb_team team(o);
  return measure({fib::name, team.name, "closure"}, o, fib::calls(o.size), fib::result(o.size),
                 [&] { return team.run([&] { return grouped(o.size); }); });
}
