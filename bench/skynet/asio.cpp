#include "workload.hpp"

#include <contender.hpp>
#include <pools/asio_pool.hpp>

int main(int count, char** words) {
  using namespace corewise::bench;
  const options o = options_of(count, words, skynet::usual_size);
  const std::uint64_t leaves = skynet::leaves_of(o.size);
  asio_pool pool(o);
  return measure({skynet::name, pool.name, "closure"}, o, leaves, skynet::result(leaves),
                 [&] { return skynet::pass(pool, leaves); });
}
