#include "workload.hpp"

#include <oneapi/tbb/concurrent_queue.h>

#include <atomic>
#include <thread>
#include <vector>

// oneTBB's tasks must not block, and its queue blocks: so threads of their own use it.

int main(int count, char** words) {
  using namespace corewise::bench;
  const options o = options_of(count, words, channel::usual_size);
  const channel::shape s = channel::shape_of(o);
  constexpr std::uint64_t last = ~std::uint64_t{0}; // tells a receiver that no other comes
  return measure({channel::name_of(o), "tbb", "thread"}, o, o.size, channel::result(o.size), [&] {
    oneapi::tbb::concurrent_bounded_queue<std::uint64_t> queue;
    queue.set_capacity(static_cast<std::ptrdiff_t>(s.room));
    std::atomic<std::uint64_t> sum{0};
    std::vector<std::jthread> receivers;
    for (std::uint64_t i = 0; i < s.receivers; ++i)
      receivers.emplace_back([&] {
        std::uint64_t mine = 0;
        std::uint64_t value = 0;
        for (queue.pop(value); value != last; queue.pop(value)) mine += value;
        sum += mine;
      });
    std::vector<std::jthread> senders;
    std::uint64_t first = 0;
    for (std::uint64_t i = 0; i < s.senders; ++i) {
      const std::uint64_t end = channel::end_of(i, s, o.size);
      senders.emplace_back([&queue, first, end] {
        for (std::uint64_t value = first; value != end; ++value) queue.push(value);
      });
      first = end;
    }
    senders.clear();
    for (std::uint64_t i = 0; i < s.receivers; ++i) queue.push(last);
    receivers.clear();
    return sum.load();
  });
}
