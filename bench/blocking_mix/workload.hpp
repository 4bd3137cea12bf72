#pragma once

#include <axes/finish_line.hpp>
#include <contender.hpp>

#include <chrono>
#include <cstdint>
#include <thread>

// 2,000 tasks of 50 us CPU time each, of which one in twenty sleeps for 5 ms as well. If a sleeper does not
// keep its worker from other tasks, a task takes 50 us / workers; if it does, six times as long. The size is
// the number of tasks.

namespace corewise::bench::blocking_mix {

constexpr std::uint64_t usual_size = 2'000;
constexpr std::uint64_t sleeps_every = 20;
constexpr std::chrono::microseconds cpu{50};
constexpr std::chrono::milliseconds sleep{5};

template <class Pool> std::uint64_t pass(Pool& pool, std::uint64_t tasks) {
  command::finish_line end(tasks);
  for (std::uint64_t i = 0; i < tasks; ++i)
    pool.post([&pool, &end, i] {
      work(cpu);
      if (i % sleeps_every == 0) pool.blocking([] { std::this_thread::sleep_for(sleep); });
      end.cross(1);
    });
  return end.wait();
}

template <class Pool> int run(int count, char** words) {
  const options o = options_of(count, words, usual_size);
  Pool pool(o);
  return measure({"blocking_mix", pool.name, "closure", pool.profile()}, o, o.size, o.size,
                 [&] { return pass(pool, o.size); });
}

} // namespace corewise::bench::blocking_mix
