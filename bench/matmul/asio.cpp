#include "phases.hpp"

#include <contender.hpp>
#include <pools/asio_pool.hpp>

int main(int count, char** words) {
  using namespace corewise::bench;
  const options o = options_of(count, words, matmul::usual_size);
  matmul::matrices m(o.size);
  asio_pool pool(o);
  return measure(
      {matmul::name, pool.name, "closure"}, o, matmul::blocks(o.size), o.size,
      [&] { return matmul::pass(pool, m); },
      [&](std::uint64_t /*of a pass*/) { return m.take_right_rows(); });
}
