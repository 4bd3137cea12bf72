#include "workload.hpp"

#include <corewise/engine/yield.hpp>

#include <pools/corewise_pool.hpp>

using namespace corewise;
using bench::busy::keeping_busy;

namespace {

task<> gives_way(keeping_busy& all) {
  while (all.work()) co_await yield();
}

void submit(engine& on, task<> work) {
  if (on.submit(std::move(work)) != submit_result::accepted) std::terminate();
}

task<> spawns_next(engine& on, keeping_busy& all) {
  if (all.work()) submit(on, spawns_next(on, all));
  co_return;
}

task<> crosses(command::finish_line& end) {
  end.cross(1);
  co_return;
}

int run_coroutines(const bench::options& o, bench::corewise_pool& pool) {
  engine& on = pool.engine();
  const auto keep = [&](keeping_busy& all) {
    submit(on, o.figure == "busy1" ? gives_way(all) : spawns_next(on, all));
  };
  return bench::busy::measure_busy({bench::busy::name_of(o), pool.name, "coroutine", pool.profile()}, o, keep,
                                   [&](command::finish_line& end) { submit(on, crosses(end)); });
}

} // namespace

int main(int count, char** words) {
  const bench::options o = bench::options_of(count, words, bench::busy::usual_size);
  bench::corewise_pool pool(o);
  return o.kind == "coroutine" ? run_coroutines(o, pool) : bench::busy::run_closures(o, pool);
}
