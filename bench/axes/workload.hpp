#pragma once

#include <axes/finish_line.hpp>
#include <contender.hpp>

#include <cstdint>
#include <string_view>

// Of the four axes of `corewise run` the two that are closures, for pools that have nothing that a coroutine could await.

namespace corewise::bench::axes {

constexpr std::uint64_t tasks = 10'000;
constexpr std::uint64_t depth = 1'000;

/// This thread posts tasks, each counts down.
template <class Pool> std::uint64_t fork_many(Pool& pool) {
  command::finish_line end(tasks);
  for (std::uint64_t i = 0; i < tasks; ++i) pool.post([&end] { end.cross(0); });
  end.wait();
  return tasks;
}

template <class Pool> void link(Pool& pool, command::finish_line& end, std::uint64_t number) {
  if (number == depth)
    end.cross(number);
  else
    pool.spawn([&pool, &end, number] { link(pool, end, number + 1); });
}
/// Each task spawns the next.
template <class Pool> std::uint64_t chained_fork(Pool& pool) {
  command::finish_line end(1);
  pool.post([&] { link(pool, end, 1); });
  return end.wait();
}

/// Measures the one that `--figure` names.
template <class Pool> int run(int count, char** words) {
  const options o = options_of(count, words, 1);
  Pool pool(o);
  if (o.figure == "fork-many")
    return measure({"fork-many", pool.name, "closure"}, o, tasks, tasks, [&] { return fork_many(pool); });
  if (o.figure == "chained-fork")
    return measure({"chained-fork", pool.name, "closure"}, o, depth, depth,
                   [&] { return chained_fork(pool); });
  std::fputs("--figure: fork-many or chained-fork\n", stderr);
  return 2;
}

} // namespace corewise::bench::axes
