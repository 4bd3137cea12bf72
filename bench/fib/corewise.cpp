#include "workload.hpp"

#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/when_all.hpp>

#include <contender.hpp>
#include <pools/corewise_pool.hpp>

using namespace corewise;

namespace {

std::uint64_t scoped(std::uint64_t n) {
  if (n < 2) return n;
  std::uint64_t a = 0;
  blocking_scope s;
  s.fork([&] { a = scoped(n - 1); });
  const std::uint64_t b = scoped(n - 2);
  s.wait();
  return a + b;
}

task<std::uint64_t> forked(std::uint64_t n) {
  if (n < 2) co_return n;
  auto [a, b] = co_await when_all(forked(n - 1), forked(n - 2));
  co_return a + b;
}

} // namespace

int main(int count, char** words) {
  using namespace corewise::bench;
  const options o = options_of(count, words, fib::usual_size);
  corewise_pool pool(o);
  const bool coroutines = o.kind == "coroutine";
  return measure({fib::name, pool.name, coroutines ? "coroutine" : "closure", pool.profile()}, o,
                 fib::calls(o.size), fib::result(o.size), [&] {
                   return coroutines ? sync_wait(pool.engine(), forked(o.size))
                                     : pool.engine().run([&] { return scoped(o.size); }).get();
                 });
}
