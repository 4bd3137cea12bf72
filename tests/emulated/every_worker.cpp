#include "every_worker.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

namespace corewise::emulated {

namespace {

/// Lets nobody through until `expected` have come, or a minute has passed.
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

void on_every_worker(engine& e, const std::function<void(worker_id)>& f) {
  gate all(e.workers().size());
  for (const worker_place& place : e.workers().workers()) {
    hint there;
    there.worker = place.id;
    const auto visit = [&] {
      f(e.this_worker().value());
      all.pass();
    };
    if (e.submit(visit, there) != submit_result::accepted) throw std::runtime_error("a task was refused");
  }
  e.drain();
  if (!all.everybody_met()) throw std::runtime_error("a worker did nothing for a minute while work waited");
}

} // namespace corewise::emulated
