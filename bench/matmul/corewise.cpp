#include "workload.hpp"

#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/when_all.hpp>

#include <contender.hpp>
#include <pools/corewise_pool.hpp>

using namespace corewise;
using bench::matmul::product;

namespace {

void scoped(const product& p) {
  if (p.is_block()) return p.multiply();
  for (const std::uint64_t phase : {0U, 1U}) {
    blocking_scope s;
    for (std::uint64_t i = 1; i < 4; ++i) s.fork([q = p.quarter(i, phase)] { scoped(q); });
    scoped(p.quarter(0, phase));
    s.wait();
  }
}

task<> forked(product p) {
  if (p.is_block()) co_return p.multiply();
  for (const std::uint64_t phase : {0U, 1U})
    co_await when_all(forked(p.quarter(0, phase)), forked(p.quarter(1, phase)), forked(p.quarter(2, phase)),
                      forked(p.quarter(3, phase)));
}

} // namespace

int main(int count, char** words) {
  using namespace corewise::bench;
  const options o = options_of(count, words, matmul::usual_size);
  matmul::matrices m(o.size);
  corewise_pool pool(o);
  const bool coroutines = o.kind == "coroutine";
  return measure(
      {matmul::name, pool.name, coroutines ? "coroutine" : "closure", pool.profile()}, o,
      matmul::blocks(o.size), o.size,
      [&] {
        if (coroutines)
          sync_wait(pool.engine(), forked(m.whole()));
        else
          pool.engine().run([&] { scoped(m.whole()); }).get();
        return 0U;
      },
      [&](std::uint64_t /*of a pass*/) { return m.take_right_rows(); });
}
