#pragma once

#include <contender.hpp>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <string>
#include <utility>

namespace corewise::bench {

/// A oneTBB arena of so many worker threads. It keeps none of its slots for the thread that made it: the
/// posting thread stays outside.
class tbb_pool {
 public:
  static constexpr std::string_view name = "tbb";

  explicit tbb_pool(const options& o)
      : threads_(tbb::global_control::max_allowed_parallelism, o.workers + 1), // the main thread counts
        arena_(static_cast<int>(o.workers), 0) {}
  tbb_pool(const tbb_pool&) = delete;
  tbb_pool& operator=(const tbb_pool&) = delete;
  ~tbb_pool() {
    arena_.execute([this] { spawned_.wait(); });
  }

  std::string profile() const { return {}; }

  template <class F> void post(F&& f) { arena_.enqueue(std::forward<F>(f)); }
  /// Spawns into the deque of the calling worker.
  template <class F> void spawn(F&& f) { spawned_.run(std::forward<F>(f)); }
  /// In a task: calls f, which blocks.
  template <class F> void blocking(F&& f) { std::forward<F>(f)(); }

 private:
  tbb::global_control threads_;
  tbb::task_arena arena_;
  tbb::task_group spawned_;
};

/// An arena whose slots are the calling thread and worker threads, for work that the caller takes part in.
class tbb_team {
 public:
  static constexpr std::string_view name = "tbb";

  explicit tbb_team(const options& o)
      : threads_(tbb::global_control::max_allowed_parallelism, o.workers),
        arena_(static_cast<int>(o.workers)) {}

  template <class F> auto run(F&& f) { return arena_.execute(std::forward<F>(f)); }

 private:
  tbb::global_control threads_;
  tbb::task_arena arena_;
};

} // namespace corewise::bench
