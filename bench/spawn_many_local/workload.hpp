#pragma once

#include <axes/finish_line.hpp>
#include <contender.hpp>

#include <cstdint>

// Tokio's workload of this name: a task spawns 10,000 others, each of which counts down; the last one
// signals. The size is their number.

namespace corewise::bench::spawn_many_local {

constexpr std::uint64_t usual_size = 10'000;

template <class Pool> std::uint64_t pass(Pool& pool, std::uint64_t tasks) {
  command::finish_line end(tasks);
  pool.post([&pool, &end, tasks] {
    for (std::uint64_t i = 0; i < tasks; ++i) pool.spawn([&end] { end.cross(0); });
  });
  end.wait();
  return tasks;
}

template <class Pool> int run(int count, char** words) {
  const options o = options_of(count, words, usual_size);
  Pool pool(o);
  return measure({"spawn_many_local", pool.name, "closure", pool.profile()}, o, o.size, o.size,
                 [&] { return pass(pool, o.size); });
}

} // namespace corewise::bench::spawn_many_local
