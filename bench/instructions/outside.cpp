#include "counting.hpp"
#include "kind.hpp"
#include "work_clock.hpp"

#include <atomic>
#include <chrono>
#include <thread>

// Tasks from a thread that is no worker: what that thread does for them, and what the worker does.

namespace corewise::bench {

namespace {

constexpr std::uint64_t batch = 1000; // fits into an inbox of 1,024

/// Keeps the worker in a task while a batch is submitted; the worker runs the batch while the submitter
/// waits.
class turns {
 public:
  explicit turns(engine& e) : e_(e) {}

  /// Runs batches. Only one side counts.
  void run(std::uint64_t operations, bool submitter_counts) {
    worker_counts_ = !submitter_counts;
    post(e_, [this] { hold(); });
    held_.acquire();
    for (; operations != 0; operations -= batch) {
      if (submitter_counts) begin_counting();
      for (std::uint64_t i = 0; i < batch; ++i) post(e_, [this] { one_ended(); });
      if (submitter_counts) end_counting();
      left_ = batch;
      go_on_.release();
      held_.acquire();
    }
    ended_ = true;
    go_on_.release();
    e_.drain();
  }

 private:
  void hold() {
    held_.release();
    go_on_.acquire();
    if (worker_counts_ && !ended_) begin_counting();
  }
  void one_ended() {
    pass_operation();
    if (--left_ != 0) return;
    if (worker_counts_) end_counting();
    hold();
  }

  engine& e_;
  bool worker_counts_ = false;
  std::uint64_t left_ = 0;
  bool ended_ = false;
  std::binary_semaphore held_{0};
  std::binary_semaphore go_on_{0};
};

void run_submitter(engine& e, std::uint64_t operations) { turns(e).run(operations, true); }
void run_worker(engine& e, std::uint64_t operations) { turns(e).run(operations, false); }

/// Waits until the only worker sleeps, or is about to enter the kernel for it.
void wait_until_parked(const engine& e, std::uint64_t parks_before) {
  const auto parks = [&] { return e.metrics().total().parks; };
  while (parks() == parks_before) std::this_thread::sleep_for(std::chrono::microseconds{100});
  std::this_thread::sleep_for(std::chrono::microseconds{100});
}

void run_wakes(engine& e, std::uint64_t operations, bool submitter_counts) {
  std::uint64_t done = 0;
  for (std::uint64_t i = 0; i <= operations; ++i) {
    const std::uint64_t parks = e.metrics().total().parks;
    const bool first = i == 0; // brings the worker to where the next one finds it
    if (submitter_counts && !first) begin_counting();
    post(e, [&, first, last = i == operations] {
      if (!submitter_counts && !first) end_counting();
      ++done;
      pass_operation();
      if (!submitter_counts && !last) begin_counting();
    });
    if (submitter_counts && !first) end_counting();
    wait_until_parked(e, parks);
  }
  check(done == operations + 1);
}

void run_wake_submitter(engine& e, std::uint64_t operations) { run_wakes(e, operations, true); }
void run_wake_worker(engine& e, std::uint64_t operations) { run_wakes(e, operations, false); }

} // namespace

const kind outside_submitter{
    "outside-submitter", "a task that comes from outside while the worker is in a task; the submitter's side",
    1, 10'000, run_submitter};
const kind outside_worker{"outside-worker", "the worker's side of it, while 1,000 wait", 1, 10'000,
                          run_worker};
const kind wake_submitter{"wake-submitter",
                          "a task that comes from outside while the worker sleeps; the submitter's side", 1,
                          100, run_wake_submitter};
const kind wake_worker{
    "wake-worker", "the worker's side of it, from the end of a task to sleep, and from there into the next",
    1, 100, run_wake_worker};

} // namespace corewise::bench
