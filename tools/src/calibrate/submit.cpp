#include "submit.hpp"

#include "small_engine.hpp"

#include <fmt/format.h>

namespace corewise::command {

namespace {

constexpr std::uint32_t batch = 200; // fits into the ring of 256

/// Runs batches on the one worker; the last task of a batch submits the next.
class batches {
 public:
  batches(engine& e, steady_time until, sample_list& submit, sample_list& run)
      : e_(e),
        until_(until),
        submit_(submit),
        run_(run) {}

  void run() {
    post(e_, [this] { begin_batch(); });
    over_.acquire();
    e_.drain();
  }

 private:
  void begin_batch() {
    left_ = batch;
    const steady_time began = now();
    for (std::uint32_t i = 0; i < batch; ++i) post(e_, [this] { run_one(); });
    const steady_time ended = now();
    if (warm_) submit_.add(ns_between(began, ended) / batch);
  }
  void run_one() {
    if (left_ == batch) first_ = now();
    if (--left_ == 0) end_batch(now());
  }
  void end_batch(steady_time last) {
    if (warm_) run_.add(ns_between(first_, last) / (batch - 1));
    warm_ = true;
    if (last < until_) return begin_batch();
    over_.release();
  }

  engine& e_;
  steady_time until_;
  sample_list& submit_;
  sample_list& run_;
  std::uint32_t left_ = 0;
  bool warm_ = false;
  steady_time first_;
  std::binary_semaphore over_{0};
};

} // namespace

void submit_probe::measure(steady_time until) {
  engine e(small_profile(cpu_set::range(cpu_, cpu_)));
  batches(e, until, submit_, run_).run();
}

void submit_probe::report(calibration& into) const {
  const std::string how = fmt::format("CPU {}", cpu_);
  into.costs["submit"] = submit_.result(how);
  into.costs["run"] = run_.result(how);
}

} // namespace corewise::command
