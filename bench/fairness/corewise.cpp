#include "workload.hpp"

#include <corewise/engine/yield.hpp>

#include <pools/corewise_pool.hpp>

using namespace corewise;
using bench::fairness::turn_taker;

namespace {

task<> yielder(turn_taker& t) {
  while (t.take()) co_await yield();
}

} // namespace

int main(int count, char** words) {
  using namespace corewise::bench;
  const options o = options_of(count, words, fairness::usual_size);
  corewise_pool pool(o);
  return fairness::run_turns({"fairness", pool.name, "coroutine", pool.profile()}, o, [&](turn_taker& t) {
    if (pool.engine().submit(yielder(t)) != submit_result::accepted) std::terminate();
  });
}
