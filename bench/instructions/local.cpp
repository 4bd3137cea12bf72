#include "counting.hpp"
#include "kind.hpp"
#include "work_clock.hpp"

#include <corewise/engine/blocking_scope.hpp>

// A worker with tasks of its own.

namespace corewise::bench {

namespace {

constexpr std::uint64_t batch = 200; // fits into the ring of 256

/// Runs f on a worker, counted, and waits until it has ended.
template <class F> void counted_in_task(engine& e, const F& f) {
  std::binary_semaphore over(0);
  post(e, [&] {
    begin_counting();
    f();
    end_counting();
    over.release();
  });
  over.acquire();
  e.drain(); // it may still be in `release`
}

struct chain {
  engine& e;
  std::uint64_t left;
  std::binary_semaphore over{0};

  void next() {
    pass_operation();
    if (left-- != 0) return post(e, [this] { next(); });
    end_counting();
    over.release();
  }
};

void run_chain(engine& e, std::uint64_t operations) {
  chain c{e, operations};
  post(e, [&] {
    begin_counting();
    c.next();
  });
  c.over.acquire();
  e.drain();
}

/// Batches of tasks, each spawned by the last task of the batch before.
struct batches {
  engine& e;
  std::uint64_t left;
  hint wish;
  std::uint64_t running = 0;
  std::binary_semaphore over{0};

  void spawn() {
    running = batch;
    for (std::uint64_t i = 0; i < batch; ++i) post(e, [this] { one_ended(); }, wish);
  }
  void one_ended() {
    pass_operation();
    if (--running != 0) return;
    left -= batch;
    if (left != 0) return spawn();
    end_counting();
    over.release();
  }
};

void run_batches(engine& e, std::uint64_t operations, const hint& wish) {
  batches b{e, operations, wish};
  post(e, [&] {
    begin_counting();
    b.spawn();
  });
  b.over.acquire();
  e.drain();
}

void run_many(engine& e, std::uint64_t operations) { run_batches(e, operations, no_hint); }
void run_hinted(engine& e, std::uint64_t operations) {
  run_batches(e, operations, {.group = e.workers().workers().front().group});
}

void run_labelled(engine& e, std::uint64_t operations) {
  run_batches(e, operations, {.name = "request", .id = {1, 2}});
}

void run_scopes(engine& e, std::uint64_t operations) {
  std::uint64_t done = 0;
  counted_in_task(e, [&] {
    for (std::uint64_t i = 0; i < operations; ++i) {
      blocking_scope s;
      s.fork([&] { ++done; });
      s.wait();
      pass_operation();
    }
  });
  check(done == operations);
}

void run_blocking(engine& e, std::uint64_t operations) {
  std::uint64_t done = 0;
  counted_in_task(e, [&] {
    for (std::uint64_t i = 0; i < operations; ++i) {
      blocking([&] { ++done; });
      pass_operation();
    }
  });
  check(done == operations);
}

} // namespace

const kind chained_spawn{"chained-spawn", "a task submits the next; submitting and running it", 1, 10'000,
                         run_chain};
const kind spawn_many{"spawn-many", "a task submits 200; submitting and running one of them", 1, 10'000,
                      run_many};
const kind spawn_hinted{"spawn-hinted", "likewise, with a hint that names the group", 1, 10'000, run_hinted};
const kind spawn_labelled{"spawn-labelled", "likewise, with a name and an id", 1, 10'000, run_labelled};
const kind scope_fork{"blocking-scope", "a scope, one call that is forked into it and run by the wait", 1,
                      10'000, run_scopes};
const kind short_blocking{"blocking", "a blocking call that is over at once", 1, 10'000, run_blocking};

} // namespace corewise::bench
