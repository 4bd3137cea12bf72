#pragma once

#include <axes/finish_line.hpp>
#include <contender.hpp>
#include <pthread.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

// Tasks from outside. The figures:
//
//     tasks    `--size` threads post 10,000 empty tasks together; ns a task, from the first post to the last
//              end
//     call     one thread posts as many; ns a call of post alone, while the pool is awake
//     wake     a task is posted to a pool at rest; us from the call of post until the task begins
//     waking   likewise; us that the call of post takes

namespace corewise::bench::outside {

constexpr std::uint64_t tasks = 10'000;
constexpr std::uint32_t samples = 500; // of a round
/// How long nothing happens before a task is posted to a pool at rest.
constexpr std::chrono::milliseconds rest{1};

/// Threads wait here for each other, again and again. A waiting thread sleeps at once, as with
/// `finish_signal` and for its reason.
class start_line {
 public:
  explicit start_line(std::uint64_t threads) noexcept {
    ::pthread_barrier_init(&posix_, nullptr, static_cast<unsigned>(threads));
  }
  start_line(const start_line&) = delete;
  start_line& operator=(const start_line&) = delete;
  ~start_line() { ::pthread_barrier_destroy(&posix_); }

  void arrive_and_wait() noexcept { ::pthread_barrier_wait(&posix_); }

 private:
  pthread_barrier_t posix_{};
};

/// Threads that post when they are told to.
template <class Pool> class producers {
 public:
  producers(Pool& pool, std::uint64_t count) : pool_(pool), begin_(count + 1) {
    for (std::uint64_t i = 0; i < count; ++i) threads_.emplace_back([this, i, count] { work(i, count); });
  }
  producers(const producers&) = delete;
  producers& operator=(const producers&) = delete;
  ~producers() {
    end_ = nullptr;
    begin_.arrive_and_wait();
  }

  std::uint64_t pass() {
    command::finish_line end(tasks);
    end_ = &end;
    begin_.arrive_and_wait();
    end.wait();
    return tasks;
  }

 private:
  void work(std::uint64_t number, std::uint64_t count) {
    for (;;) {
      begin_.arrive_and_wait();
      command::finish_line* const end = end_;
      if (end == nullptr) return;
      for (std::uint64_t i = number; i < tasks; i += count) pool_.post([end] { end->cross(0); });
    }
  }

  Pool& pool_;
  start_line begin_;
  command::finish_line* end_ = nullptr; // published by the line
  std::vector<std::jthread> threads_;
};

struct latency {
  double wake_us;
  double call_us;
  std::uint64_t begun;
};

/// Posts one task to a pool that has nothing to do.
template <class Pool> latency post_one(Pool& pool) {
  using clock = std::chrono::steady_clock;
  using us = std::chrono::duration<double, std::micro>;
  std::this_thread::sleep_for(rest);
  struct alignas(128) beginning { // not on the lines that the call of `post` uses meanwhile
    clock::time_point at;
    std::uint64_t times = 0;
    command::finish_signal signal;
  } begun;
  const auto posted = clock::now();
  pool.post([&] {
    begun.at = clock::now();
    ++begun.times;
    begun.signal.give();
  });
  const auto returned = clock::now();
  begun.signal.wait();
  return {us(begun.at - posted).count(), us(returned - posted).count(), begun.times};
}

template <class Pool> int measure_rest(const options& o, Pool& pool) {
  const bool wake = o.figure == "wake";
  for (std::uint32_t i = 0; i < samples / 5; ++i) static_cast<void>(post_one(pool));
  std::vector<double> values;
  std::uint64_t begun = 0;
  for (std::uint32_t i = 0; i < o.rounds * samples; ++i) {
    const latency l = post_one(pool);
    values.push_back(wake ? l.wake_us : l.call_us);
    begun += l.begun;
  }
  return print_samples({wake ? "outside-wake" : "outside-waking", pool.name, "closure", pool.profile()}, o,
                       std::move(values), {begun, o.rounds * samples});
}

template <class Pool> int run(int count, char** words) {
  const options o = options_of(count, words, 1);
  Pool pool(o);
  if (o.figure == "wake" || o.figure == "waking") return measure_rest(o, pool);
  if (o.figure == "call") {
    command::finish_line* end = nullptr;
    return measure(
        {"outside-call", pool.name, "closure", pool.profile()}, o, tasks, tasks,
        [&] {
          end = new command::finish_line(tasks);
          for (std::uint64_t i = 0; i < tasks; ++i) pool.post([end] { end->cross(0); });
          return tasks;
        },
        [&](std::uint64_t posted) {
          end->wait();
          delete end;
          return posted;
        });
  }
  if (o.figure != "tasks") {
    std::fputs("--figure: tasks, call, wake or waking\n", stderr);
    return 2;
  }
  producers<Pool> from(pool, o.size);
  return measure({"outside-" + std::to_string(o.size), pool.name, "closure", pool.profile()}, o, tasks, tasks,
                 [&] { return from.pass(); });
}

} // namespace corewise::bench::outside
