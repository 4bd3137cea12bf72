#include "every_worker.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

namespace corewise::emulated {

namespace {

/// Lets no task through until `expected` have come, or a minute has passed.
class gate {
 public:
  explicit gate(std::size_t expected) : missing_(expected) {}

  void pass() {
    std::unique_lock lock(mutex_);
    if (--missing_ == 0) all_here_.notify_all();
    if (!all_here_.wait_for(lock, std::chrono::minutes{1}, [this] { return missing_ == 0; })) met_ = false;
  }
  bool everybody_met() {
    const std::scoped_lock lock(mutex_);
    return met_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  std::size_t missing_;
  bool met_ = true;
};

} // namespace

// One task for each worker is not enough: the last may wait alone in a domain whose workers are held, and is
// left to them. With the largest threshold for each, m for each of n workers, at least m * n - (n - 1) wait
// while a worker has none, in its own domain or in at most n - 1 others: then m wait in one of these, and the
// worker comes for them.
void on_every_worker(engine& e, const std::function<void(worker_id)>& f) {
  const std::size_t workers = e.workers().size();
  const std::uint32_t tasks_for_each = std::ranges::max(minimum_at_of(e.configuration()));
  gate all(workers);
  std::vector<char> visited(workers); // each is its worker's
  const auto visit = [&] {
    const worker_id here = e.this_worker().value();
    if (std::exchange(visited[here.value], 1) != 0) return;
    f(here);
    all.pass();
  };
  for (std::size_t i = 0; i != workers * tasks_for_each; ++i) {
    hint there;
    there.worker = e.workers().workers()[i % workers].id;
    if (e.submit(visit, there) != submit_result::accepted) throw std::runtime_error("a task was refused");
  }
  e.drain();
  if (!all.everybody_met()) throw std::runtime_error("a worker did nothing for a minute while work waited");
}

} // namespace corewise::emulated
