#pragma once

#include <axes/finish_line.hpp>
#include <contender.hpp>
#include <pools/coroutines.hpp>

#include <cstdint>
#include <string_view>

// The four axes of `corewise run`, for pools of closures. Two of them are coroutines, by pools/coroutines.hpp.

namespace corewise::bench::axes {

constexpr std::uint64_t tasks = 10'000;
constexpr std::uint64_t depth = 1'000;
constexpr std::uint64_t pairs = 1'000;
constexpr std::uint64_t yielders = 200;
constexpr std::uint64_t yields = 1'000; // of each

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
  command::finish_line end(pairs);
  pool.post([&] {
    for (std::uint64_t i = 0; i < pairs; ++i) spawn(pool, pair(pool, end, i).handle);
  });
  return end.wait();
}

template <class Pool> detached yielder(Pool& pool, command::finish_line& end) {
  std::uint64_t done = 0;
  for (; done < yields; ++done) co_await give_way<Pool>{pool};
  end.cross(done);
}
/// All give way to each other.
template <class Pool> std::uint64_t yield_many(Pool& pool) {
  command::finish_line end(yielders);
  for (std::uint64_t i = 0; i < yielders; ++i) post(pool, yielder(pool, end));
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
  if (o.figure == "ping-pong")
    return measure({"ping-pong", pool.name, "coroutine"}, o, pairs, pairs, [&] { return ping_pong(pool); });
  if (o.figure == "yield-many")
    return measure({"yield-many", pool.name, "coroutine"}, o, yielders * yields, yielders * yields,
                   [&] { return yield_many(pool); });
  std::fputs("--figure: ping-pong, chained-fork, fork-many or yield-many\n", stderr);
  return 2;
}

} // namespace corewise::bench::axes
