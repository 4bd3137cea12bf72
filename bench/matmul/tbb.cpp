#include "workload.hpp"

#include <contender.hpp>
#include <pools/tbb_pool.hpp>

using corewise::bench::matmul::product;

namespace {

void grouped(const product& p) {
  if (p.is_block()) return p.multiply();
  for (const std::uint64_t phase : {0U, 1U}) {
    tbb::task_group group;
    for (std::uint64_t i = 1; i < 4; ++i) group.run([q = p.quarter(i, phase)] { grouped(q); });
    grouped(p.quarter(0, phase));
    group.wait();
  }
}

} // namespace

int main(int count, char** words) {
  using namespace corewise::bench;
  const options o = options_of(count, words, matmul::usual_size);
  matmul::matrices m(o.size);
  tbb_team team(o);
  return measure(
      {matmul::name, team.name, "closure"}, o, matmul::blocks(o.size), o.size,
      [&] {
        team.run([&] { grouped(m.whole()); });
        return 0U;
      },
      [&](std::uint64_t /*of a pass*/) { return m.take_right_rows(); });
}
