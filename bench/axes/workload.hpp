#pragma once

#include <axes/finish_line.hpp>
#include <axes/sizes.hpp>
#include <contender.hpp>
#include <pools/coroutines.hpp>

#include <cstdint>
#include <string_view>

// The four axes of `corewise run`, for pools of closures. Two of them are coroutines, by
// pools/coroutines.hpp.

namespace corewise::bench::axes {

/// This thread posts tasks; each task counts down.
template <class Pool> std::uint64_t fork_many(Pool& pool) {
  command::finish_line end(command::fork_many_tasks);
  for (std::uint64_t i = 0; i < command::fork_many_tasks; ++i) pool.post([&end] { end.cross(0); });
  end.wait();
  return command::fork_many_tasks;
}

template <class Pool> void link(Pool& pool, command::finish_line& end, std::uint64_t number) {
  if (number == command::chained_fork_depth)
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

template <class Pool> detached child(oneshot<Pool>& question, oneshot<Pool>& answer) {
  answer.send(co_await question.receive() + 1);
}
template <class Pool> detached pair(Pool& pool, command::finish_line& end, std::uint64_t number) {
  oneshot question(pool);
  oneshot answer(pool);
  spawn(pool, child(question, answer).handle);
  question.send(number);
  const bool right = co_await answer.receive() == number + 1;
  end.cross(right ? 1 : 0);
}
/// A task spawns pairs, each spawns a child, asks it and awaits the answer.
template <class Pool> std::uint64_t ping_pong(Pool& pool) {
  command::finish_line end(command::ping_pong_pairs);
  pool.post([&] {
    for (std::uint64_t i = 0; i < command::ping_pong_pairs; ++i) spawn(pool, pair(pool, end, i).handle);
  });
  return end.wait();
}

template <class Pool> detached yielder(Pool& pool, command::finish_line& end) {
  std::uint64_t done = 0;
  for (; done < command::yields_of_each; ++done) co_await give_way<Pool>{pool};
  end.cross(done);
}
/// All coroutines give way to each other.
template <class Pool> std::uint64_t yield_many(Pool& pool) {
  command::finish_line end(command::yield_many_tasks);
  for (std::uint64_t i = 0; i < command::yield_many_tasks; ++i) post(pool, yielder(pool, end).handle);
  return end.wait();
}

/// Measures the axis that `--figure` names.
template <class Pool> int run(int count, char** words) {
  const options o = options_of(count, words, 1);
  Pool pool(o);
  if (o.figure == "fork-many")
    return measure({"fork-many", pool.name, "closure"}, o, command::fork_many_tasks, command::fork_many_tasks,
                   [&] { return fork_many(pool); });
  if (o.figure == "chained-fork")
    return measure({"chained-fork", pool.name, "closure"}, o, command::chained_fork_depth,
                   command::chained_fork_depth, [&] { return chained_fork(pool); });
  if (o.figure == "ping-pong")
    return measure({"ping-pong", pool.name, "coroutine"}, o, command::ping_pong_pairs,
                   command::ping_pong_pairs, [&] { return ping_pong(pool); });
  if (o.figure == "yield-many")
    return measure({"yield-many", pool.name, "coroutine"}, o,
                   command::yield_many_tasks * command::yields_of_each,
                   command::yield_many_tasks * command::yields_of_each, [&] { return yield_many(pool); });
  std::fputs("--figure: ping-pong, chained-fork, fork-many or yield-many\n", stderr);
  return 2;
}

} // namespace corewise::bench::axes
