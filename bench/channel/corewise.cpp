#include "workload.hpp"

#include <corewise/engine/channel.hpp>
#include <corewise/engine/sync_wait.hpp>
#include <corewise/engine/when_all.hpp>

#include <pools/corewise_pool.hpp>

#include <numeric>
#include <vector>

using namespace corewise;

namespace {

using numbers = corewise::channel<std::uint64_t>;

task<> sends(numbers& to, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t i = first; i != end; ++i) co_await to.send(std::uint64_t{i});
}

task<std::uint64_t> receives(numbers& from) {
  std::uint64_t sum = 0;
  for (auto value = co_await from.receive(); value; value = co_await from.receive()) sum += *value;
  co_return sum;
}

task<> sends_all(numbers& to, const bench::channel::shape& s, std::uint64_t size) {
  std::vector<task<>> senders;
  std::uint64_t first = 0;
  for (std::uint64_t i = 0; i < s.senders; ++i) {
    const std::uint64_t end = bench::channel::end_of(i, s, size);
    senders.push_back(sends(to, first, end));
    first = end;
  }
  co_await when_all(std::move(senders));
  to.close();
}

task<std::uint64_t> receives_all(numbers& from, std::uint64_t receivers) {
  std::vector<task<std::uint64_t>> all;
  for (std::uint64_t i = 0; i < receivers; ++i) all.push_back(receives(from));
  const std::vector<std::uint64_t> sums = co_await when_all(std::move(all));
  co_return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

} // namespace

int main(int count, char** words) {
  using namespace corewise::bench;
  const options o = options_of(count, words, bench::channel::usual_size);
  const bench::channel::shape s = bench::channel::shape_of(o);
  corewise_pool pool(o);
  return measure({bench::channel::name_of(o), pool.name, "coroutine", pool.profile()}, o, o.size,
                 bench::channel::result(o.size), [&] {
                   numbers c(s.room);
                   auto sum = pool.engine().run(receives_all(c, s.receivers));
                   pool.engine().run(sends_all(c, s, o.size)).get();
                   return sum.get();
                 });
}
