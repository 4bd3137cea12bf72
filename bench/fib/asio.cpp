#include "workload.hpp"

#include <contender.hpp>
#include <pools/asio_pool.hpp>

int main(int count, char** words) {
  using namespace corewise::bench;
  const options o = options_of(count, words, fib::usual_size);
  asio_pool pool(o);
  return measure({fib::name, pool.name, "closure"}, o, fib::calls(o.size), fib::result(o.size),
                 [&] { return fib::pass(pool, o.size); });
}
