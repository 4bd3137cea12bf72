#pragma once

#include "calibration.hpp"
#include "stopwatch.hpp"

#include <memory>
#include <string>
#include <vector>

namespace corewise::command {

/// Measures one thing, in turns with others, so that a disturbance of the host disturbs all probes a little.
class probe {
 public:
  probe() = default;
  probe(const probe&) = delete;
  probe& operator=(const probe&) = delete;
  virtual ~probe() = default;

  /// The name of what it measures, for people.
  virtual std::string name() const = 0;
  /// Takes samples until `until`, a few at least.
  virtual void measure(steady_time until) = 0;
  /// Writes its findings. Called at the end.
  virtual void report(calibration& into) const = 0;
};

using probe_list = std::vector<std::unique_ptr<probe>>;

/// The samples of one figure, and their result.
class sample_list {
 public:
  /// The number of samples that it keeps: more say nothing more, and take memory.
  static constexpr std::size_t most = 200'000;

  void add(double sample) {
    if (samples_.size() < most) samples_.push_back(sample);
  }
  /// Counts a spoilt sample: the two threads did not run at the same time.
  void spoil() noexcept { ++spoilt_; }
  /// Gives up: no later sample can succeed.
  void give_up(std::string why) { why_not_ = std::move(why); }

  finding result(std::string how) const;

 private:
  std::vector<double> samples_;
  std::size_t spoilt_ = 0;
  std::string why_not_;
};

} // namespace corewise::command
