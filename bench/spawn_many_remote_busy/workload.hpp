#pragma once

#include <axes/finish_line.hpp>
#include <contender.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

// Tokio's workloads of these names: while *keepers* keep the workers busy, an outside thread spawns tasks
// that count down. The figures:
//
//     busy1   two keepers for each worker, each of which works for 10 us and gives way, again and again;
//             10,000 tasks
//     busy2   one for each worker, which works for 10 us and spawns the next; 1,000 tasks
//
// A keeper at work offers its CPU to other threads all the time, as Tokio's do. The size is the number of
// tasks.
//
// A worker that runs what it has spawned before anything else never comes to the tasks of busy2: so do the
// workers of oneTBB and Tokio 1.24, which take no part in it.

namespace corewise::bench::busy {

constexpr std::uint64_t usual_size = 10'000;
constexpr std::chrono::microseconds stall{10};

inline std::uint64_t keepers_of(const options& o) { return o.figure == "busy1" ? 2 * o.workers : o.workers; }

/// The state that all keepers of a process share. They end when it does.
class keeping_busy {
 public:
  explicit keeping_busy(std::uint64_t keepers) : left_(keepers) {}
  keeping_busy(const keeping_busy&) = delete;
  keeping_busy& operator=(const keeping_busy&) = delete;
  ~keeping_busy() {
    ends_.store(true, std::memory_order_relaxed);
    static_cast<void>(left_.wait());
  }

  /// Takes a keeper's turn. Returns whether it has another.
  bool work() {
    const auto began = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - began < stall) std::this_thread::yield();
    if (!ends_.load(std::memory_order_relaxed)) return true;
    left_.cross(0);
    return false;
  }

 private:
  std::atomic<bool> ends_{false}; // relaxed: a word by itself
  command::finish_line left_;
};

/// Measures while keepers are at work: `keep(keeping_busy&)` begins one, `post(finish_line&)` a task that
/// crosses.
template <class Keep, class Post>
int measure_busy(const contender& who, const options& o, Keep keep, Post post) {
  if (o.figure != "busy1" && o.figure != "busy2") {
    std::fputs("--figure: busy1 or busy2\n", stderr);
    return 2;
  }
  keeping_busy all(keepers_of(o));
  for (std::uint64_t i = 0; i < keepers_of(o); ++i) keep(all);
  return measure(who, o, o.size, o.size, [&] {
    command::finish_line end(o.size);
    for (std::uint64_t i = 0; i < o.size; ++i) post(end);
    return end.wait();
  });
}

inline std::string name_of(const options& o) { return "spawn_many_remote_" + std::string(o.figure); }

/// Gives way in a pool of closures: posts the rest of the closure, as if from outside.
template <class Pool> void give_way(Pool& pool, keeping_busy& all) {
  pool.post([&] {
    if (all.work()) give_way(pool, all);
  });
}
template <class Pool> void spawn_next(Pool& pool, keeping_busy& all) {
  pool.spawn([&] {
    if (all.work()) spawn_next(pool, all);
  });
}

template <class Pool> int run_closures(const options& o, Pool& pool) {
  const auto keep = [&](keeping_busy& all) {
    if (o.figure == "busy1") return give_way(pool, all);
    pool.post([&] { spawn_next(pool, all); });
  };
  return measure_busy({name_of(o), pool.name, "closure", pool.profile()}, o, keep,
                      [&](command::finish_line& end) { pool.post([&end] { end.cross(1); }); });
}

template <class Pool> int run(int count, char** words) {
  const options o = options_of(count, words, usual_size);
  Pool pool(o);
  return run_closures(o, pool);
}

} // namespace corewise::bench::busy
