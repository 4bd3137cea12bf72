#include "workload.hpp"

#include <contender.hpp>
#include <pools/asio_pool.hpp>

int main(int count, char** words) {
  using namespace corewise::bench;
  const options o = options_of(count, words, nqueens::usual_size);
  const nqueens::found all = nqueens::search(o.size);
  asio_pool pool(o);
  return measure({nqueens::name, pool.name, "closure"}, o, all.boards, all.solutions,
                 [&] { return nqueens::pass(pool, o.size); });
}
