#pragma once

#include <corewise/simulator/tune.hpp>

#include <exception>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace corewise::detail {

/// The function whose least value a search looks for.
using searched_function = std::function<double(const profile&)>;

/// Returns whether two profiles with the same workers and the same machine say the same.
bool equal(const profile& a, const profile& b);

/// The difference of two costs, which are logarithms, that is worth a change of a profile.
inline constexpr double worth_a_change = 0.001;

struct search_limits {
  std::uint32_t evaluations;
  std::chrono::steady_clock::time_point deadline;
};

/// Looks for the profile of least cost. The profiles that it tries depend on the costs alone, not on the
/// clock: the clock only says when it ends. So a search of as many evaluations finds the same again.
///
///     the choices, one field after another, beside the best so far
///     numbers: DIRECT-L over all of their ranges, then Sbplx from the best
///     rounds:  the choices again; Sbplx if they have moved; a controlled random search, Sbplx
///
/// until a round has found nothing better. A profile that was tried before costs nothing.
class search {
 public:
  /// `start_cost` is the cost of `start`.
  search(const profile& start, double start_cost, std::vector<tuned_field> fields, searched_function cost,
         search_limits limits);

  /// Called after each evaluation; may be empty.
  std::function<void(std::uint32_t evaluations, double best)> progress;

  /// Runs the search. Call it once. Throws what the cost throws.
  void run();
  /// Goes back to `to`, as a whole but for the fields, and then in each field whose change is of no use: the
  /// cost grows by less than a thousandth in all. Call it after `run`.
  void take_back_what_is_for_nothing(const profile& to);

  /// The profile that has the other fields: the start, or what it went back to.
  const profile& basis() const noexcept { return start_; }
  /// The best profile, in the order of the fields, and its cost.
  const std::vector<double>& best() const noexcept { return best_; }
  double best_cost() const noexcept { return best_cost_; }
  std::uint32_t evaluations() const noexcept { return evaluations_; }
  bool exhausted() const noexcept { return exhausted_; }

 private:
  struct over {}; // the limits are reached

  /// The cost of these values, after `with_values` has adjusted them. Throws `over`.
  double cost_of(std::vector<double> values);
  double cost_at(std::span<const double> point);
  std::vector<double> values_at(std::span<const double> point) const;
  std::vector<double> best_point() const;
  bool is_over() const;

  /// Tries the choices. Returns, as the next functions do, whether it has found something better.
  bool try_choices();
  bool look_everywhere();
  bool climb();
  bool wander(std::uint32_t round);
  bool minimize(int algorithm, int evaluations, double step);

  static double called_by_nlopt(unsigned n, const double* x, double* gradient, void* self);

  profile start_;
  std::vector<tuned_field> fields_;
  std::vector<std::size_t> numbers_; // fields that are not choices
  searched_function cost_;
  search_limits limits_;
  std::map<std::vector<double>, double> known_;
  std::vector<double> best_;
  double best_cost_;
  std::uint32_t evaluations_ = 0;
  bool exhausted_ = false;
  void* running_ = nullptr;    // the optimizer, to be stopped
  std::exception_ptr failure_; // an exception must not fly through a library in C
};

} // namespace corewise::detail
