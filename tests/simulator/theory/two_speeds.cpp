#include "two_speeds.hpp"

#include "policies/situation.hpp"

#include <cmath>
#include <memory>
#include <vector>

namespace corewise::tests {
namespace {

/// The probability of each pair (fast, slow), of those with at most `most` tasks with each worker.
class chain {
 public:
  chain(double r, double load, const two_way_rule& to_fast) : r_(r), rate_(load * (1 + r)) {
    for (std::size_t i = 0; i < width; ++i)
      for (std::size_t j = 0; j < width; ++j) {
        const double share = to_fast(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j));
        to_fast_[i * width + j] = i + 1 == width ? 0 : share * rate_;
        to_slow_[i * width + j] = j + 1 == width ? 0 : (1 - share) * rate_;
        likely_[i * width + j] = std::pow(load, static_cast<double>(i + j));
      }
  }

  double mean_response() {
    double before = 0;
    for (int sweep = 0; sweep < 20'000; ++sweep) {
      sweep_down();
      sweep_up();
      const double now = mean_tasks();
      if (std::abs(now - before) < 1e-10) break;
      before = now;
    }
    return before / rate_; // Little's law
  }

 private:
  static constexpr std::size_t width = 120;

  /// Balances one pair (Gauss and Seidel): the flow into a pair equals the flow out of it.
  void balance(std::size_t i, std::size_t j) {
    const std::size_t at = i * width + j;
    double in = 0;
    if (i > 0) in += likely_[at - width] * to_fast_[at - width];
    if (j > 0) in += likely_[at - 1] * to_slow_[at - 1];
    if (i + 1 < width) in += likely_[at + width];
    if (j + 1 < width) in += likely_[at + 1] * r_;
    likely_[at] = in / (to_fast_[at] + to_slow_[at] + (i > 0 ? 1 : 0) + (j > 0 ? r_ : 0));
  }
  void sweep_down() {
    for (std::size_t i = width; i-- > 0;)
      for (std::size_t j = width; j-- > 0;) balance(i, j);
  }
  void sweep_up() {
    for (std::size_t i = 0; i < width; ++i)
      for (std::size_t j = 0; j < width; ++j) balance(i, j);
  }

  double mean_tasks() {
    double sum = 0, tasks = 0;
    for (std::size_t i = 0; i < width; ++i)
      for (std::size_t j = 0; j < width; ++j) {
        sum += likely_[i * width + j];
        tasks += likely_[i * width + j] * static_cast<double>(i + j);
      }
    for (double& p : likely_) p /= sum;
    return tasks / sum;
  }

  double r_;
  double rate_;
  std::vector<double> to_fast_ = std::vector<double>(width * width);
  std::vector<double> to_slow_ = to_fast_;
  std::vector<double> likely_ = to_fast_;
};

} // namespace

double response_of_two(double r, double load, const two_way_rule& to_fast) {
  return chain(r, load, to_fast).mean_response();
}

made_machine two_speeds(std::uint32_t slow_capacity) {
  made_machine made;
  made.capacities = {slow_capacity, full_capacity};
  made.cores = {{"0", 0, 0, 0, 1}, {"1", 0, 0, 0, 0}};
  return made;
}

two_way_rule as_nearest_lightest(score_kind score, std::uint32_t slow_capacity) {
  dispatch_weights weights;
  weights.score = score;
  const auto asked = std::make_shared<situation>(build(two_speeds(slow_capacity)), weights);
  return [asked](std::uint32_t fast, std::uint32_t slow) {
    asked->boards().set_load({0}, fast);
    asked->boards().set_load({1}, slow);
    return asked->place(asked->on_cpu(0)).worker == worker_id{0} ? 1.0 : 0.0;
  };
}

double fewest_ties_split(std::uint32_t fast, std::uint32_t slow) {
  if (fast == slow) return .5;
  return fast < slow ? 1 : 0;
}

} // namespace corewise::tests
