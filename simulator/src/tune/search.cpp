#include "search.hpp"

#include <corewise/engine/profile_text.hpp>

#include <nlopt.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace corewise::detail {

namespace {

constexpr std::uint32_t rounds_most = 20;
constexpr unsigned long first_random_seed = 20'250'101;

/// Rounds to two digits that count: such numbers are as exact as the objective, and people read them.
double with_two_digits(double value) {
  const double exponent = std::floor(std::log10(value)) - 1;
  const double scale = std::pow(10.0, std::abs(exponent)); // a whole number, so that 0.3 is 0.3
  return exponent < 0 ? std::round(value * scale) / scale : std::round(value / scale) * scale;
}

/// The value for a point from 0 to 1.
double value_at(const tuned_field& f, double at) {
  const double value = f.least * std::pow(f.most / f.least, std::clamp(at, 0.0, 1.0));
  const double rounded = with_two_digits(value);
  return std::clamp(f.whole ? std::round(rounded) : rounded, f.least, f.most);
}

double point_of(const tuned_field& f, double value) {
  if (f.most <= f.least) return 0;
  return std::clamp(std::log(std::max(value, f.least) / f.least) / std::log(f.most / f.least), 0.0, 1.0);
}

struct destroys {
  void operator()(nlopt_opt o) const noexcept { nlopt_destroy(o); }
};
using optimizer = std::unique_ptr<std::remove_pointer_t<nlopt_opt>, destroys>;

} // namespace

bool equal(const profile& a, const profile& b) { return profile_text(a) == profile_text(b); }

search::search(const profile& start, double start_cost, std::vector<tuned_field> fields,
               searched_function cost, search_limits limits)
    : start_(start),
      fields_(std::move(fields)),
      cost_(std::move(cost)),
      limits_(limits),
      best_cost_(start_cost) {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].choices.empty()) numbers_.push_back(i);
    best_.push_back(fields_[i].read(start_));
  }
  known_[best_] = start_cost;
}

void search::run() {
  try {
    try_choices();
    look_everywhere();
    climb();
    for (std::uint32_t round = 0; round < rounds_most; ++round) {
      const bool moved = try_choices() && (climb(), true);
      const bool wandered = wander(round) && (climb(), true);
      if (!moved && !wandered) break;
    }
    exhausted_ = true;
  } catch (const over&) {
    exhausted_ = false;
  }
}

void search::take_back_what_is_for_nothing(const profile& to) {
  limits_ = {UINT32_MAX, std::chrono::steady_clock::time_point::max()};
  const std::uint32_t searched = evaluations_;
  const double most = best_cost_ + worth_a_change;
  const auto adopt = [&](const profile& made, double cost) {
    for (std::size_t i = 0; i < fields_.size(); ++i) best_[i] = fields_[i].read(made);
    best_cost_ = cost;
  };
  if (const profile bare = with_values(to, fields_, best_); !equal(to, start_)) {
    if (const double cost = cost_(bare); cost <= most) {
      start_ = to;
      known_.clear();
      adopt(bare, cost);
    }
  }
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    std::vector<double> values = best_;
    values[i] = fields_[i].read(to);
    if (values == best_) continue;
    if (const double cost = cost_of(values); cost <= most) adopt(with_values(start_, fields_, values), cost);
  }
  evaluations_ = searched;
}

bool search::is_over() const {
  return evaluations_ >= limits_.evaluations || std::chrono::steady_clock::now() >= limits_.deadline;
}

double search::cost_of(std::vector<double> values) {
  const profile made = with_values(start_, fields_, values);
  for (std::size_t i = 0; i < fields_.size(); ++i) values[i] = fields_[i].read(made);
  if (const auto known = known_.find(values); known != known_.end()) return known->second;
  if (is_over()) throw over{};
  const double cost = cost_(made);
  known_[values] = cost;
  ++evaluations_;
  if (cost < best_cost_) {
    best_cost_ = cost;
    best_ = std::move(values);
  }
  if (progress) progress(evaluations_, std::exp(best_cost_));
  return cost;
}

std::vector<double> search::values_at(std::span<const double> point) const {
  std::vector<double> values = best_; // the choices stay those of the best
  for (std::size_t i = 0; i < numbers_.size(); ++i)
    values[numbers_[i]] = value_at(fields_[numbers_[i]], point[i]);
  return values;
}

double search::cost_at(std::span<const double> point) { return cost_of(values_at(point)); }

std::vector<double> search::best_point() const {
  std::vector<double> point;
  for (const std::size_t i : numbers_) point.push_back(point_of(fields_[i], best_[i]));
  return point;
}

bool search::try_choices() {
  const double before = best_cost_;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    std::vector<double> values = best_;
    for (const double choice : fields_[i].choices) {
      values[i] = choice;
      cost_of(values);
    }
  }
  return best_cost_ < before;
}

bool search::look_everywhere() {
  return minimize(NLOPT_GN_DIRECT_L, 8 * static_cast<int>(numbers_.size()), 0);
}

bool search::climb() { return minimize(NLOPT_LN_SBPLX, 25 * static_cast<int>(numbers_.size()), 0.15); }

bool search::wander(std::uint32_t round) {
  nlopt_srand(first_random_seed + round);
  return minimize(NLOPT_GN_CRS2_LM, 20 * static_cast<int>(numbers_.size() + 1), 0);
}

bool search::minimize(int algorithm, int evaluations, double step) {
  if (numbers_.empty()) return false;
  const double before = best_cost_;
  const auto n = static_cast<unsigned>(numbers_.size());
  const optimizer o(nlopt_create(static_cast<nlopt_algorithm>(algorithm), n));
  if (!o) throw std::bad_alloc();
  nlopt_set_lower_bounds1(o.get(), 0);
  nlopt_set_upper_bounds1(o.get(), 1);
  nlopt_set_maxeval(o.get(), evaluations);
  nlopt_set_xtol_abs1(o.get(), 0.005);
  if (step > 0) nlopt_set_initial_step1(o.get(), step);
  nlopt_set_min_objective(o.get(), &search::called_by_nlopt, this);
  std::vector<double> point = best_point();
  double least = 0;
  running_ = o.get();
  nlopt_optimize(o.get(), point.data(), &least); // `best_` keeps the best point
  running_ = nullptr;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return best_cost_ < before;
}

double search::called_by_nlopt(unsigned n, const double* x, double* /*gradient*/, void* self) {
  auto& s = *static_cast<search*>(self);
  try {
    if (!s.failure_) return s.cost_at({x, n});
  } catch (...) {
    s.failure_ = std::current_exception();
    nlopt_force_stop(static_cast<nlopt_opt>(s.running_));
  }
  return HUGE_VAL;
}

} // namespace corewise::detail
