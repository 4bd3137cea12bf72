#include "counts.hpp"
#include "interval.hpp"
#include "made_machine.hpp"
#include "mean_field.hpp"
#include "simulated.hpp"

#include <array>
#include <functional>
#include <string>

// The power of d choices. The limits are those of infinitely many workers; with 500 the mean is about 4 / n
// above them at a load of .9 (Gast and Van Houdt, "A refined mean field approximation", 2017), which is
// within 1%.
//
// The classic rule compares all tasks of a worker. The engine's `two_choices` compares waiting tasks, as its
// model did, so it does not tell an idle worker from one whose only task runs. It has a mean field of its
// own, which is a little worse.

using namespace corewise;
using namespace corewise::tests;

namespace {

constexpr std::uint32_t many = 500;
constexpr double of_finite = .01;

/// The classic rule: of d workers drawn, with repetition, it takes the first of those with the fewest tasks,
/// running ones included.
class classic_choices final : public policy {
 public:
  explicit classic_choices(std::uint32_t d) noexcept : d_(d) {}

  std::string_view name() const noexcept override { return "classic_choices"; }
  placement place(const load_view& loads, const task_origin& /*origin*/, const placement_hint& /*hint*/,
                  placement_rng& rng, placement_cursor& /*cursor*/) const noexcept override {
    const auto workers = static_cast<std::uint32_t>(loads.layout().size());
    std::uint32_t best = rng.below(workers);
    for (std::uint32_t i = 1; i < d_; ++i)
      if (const std::uint32_t other = rng.below(workers); of(loads, other) < of(loads, best)) best = other;
    return {{best}, {0}};
  }

 private:
  static std::uint32_t of(const load_view& loads, std::uint32_t worker) noexcept {
    return loads.load({0}, worker).total();
  }

  std::uint32_t d_;
};

using limit = std::function<double(double load)>;

limit classic(std::uint32_t d) {
  return [d](double load) { return d == 1 ? 1 / (1 - load) : response_of_choices(load, d); };
}
double of_waiting(double load) { return mean_field_response(load, 2, counted::waiting); }
double of_one_worker(double load) { return 1 / (1 - load); }

/// Checks a policy by arithmetic, without the simulator.
void check_by_arithmetic(const char* name, const policy* rule, double load, const limit& theory) {
  situation s(build(one_kind(1, many)), {}, {}, {domain_kind::machine, 0}, name);
  const std::vector<double> speeds(many, 1.0);
  const path_length length{400'000 * times_as_many, .2};
  const auto response = [&](std::uint64_t seed) {
    return path_response(load, seed, speeds, asked_policy(s, seed, rule), length);
  };
  check_contains(repeat_by_what_came(load, many, length, response, theory), theory(load), of_finite, .01);
}

/// Simulates `rule`, or the policy of that name where `rule` is null.
interval simulated(std::uint32_t workers, const char* name, const policy* rule, double load,
                   const path_length& length, const limit& theory) {
  const profile p = no_stealing("numa:1 core:" + std::to_string(workers) + " pu:1", name);
  const simulated_machine m = free_of_cost(p);
  const auto response = [&](std::uint64_t seed) {
    return simulated_response(p, m, load, length, seed, rule);
  };
  return repeat_by_what_came(load, workers, length, response, theory);
}

void check_simulated(std::uint32_t workers, const char* name, double load, const path_length& length,
                     const limit& theory, double tolerance, double sharp) {
  check_contains(simulated(workers, name, nullptr, load, length, theory), theory(load), tolerance, sharp);
}

/// Published values for infinitely many workers.
struct published {
  std::uint32_t d;
  double load;
  double response;
};

} // namespace

TEST_CASE("theory: the lightest of two and of three approach the published limits, if all tasks count") {
  for (const double load : {.7, .9})
    for (const std::uint32_t d : {2U, 3U}) {
      CAPTURE(load);
      CAPTURE(d);
      const classic_choices rule(d);
      check_by_arithmetic("random", &rule, load, classic(d));
    }
}

TEST_CASE("theory: two_choices approaches the mean field without running tasks") {
  for (const double load : {.7, .9}) {
    CAPTURE(load);
    check_by_arithmetic("two_choices", nullptr, load, of_waiting);
    CHECK(of_waiting(load) > 1.02 * response_of_choices(load, 2)); // the two rules can be told apart
  }
}

TEST_CASE(
    "theory: 500 simulated workers, with each task at the lightest of d, approach the published limits") {
  constexpr std::array all{published{2, .9, 2.6141}, published{3, .7, 1.3568}, published{1, .7, 1 / .3},
                           published{2, .7, 1.6145}, published{3, .9, 2.0279}};
  for (const published& known : first_of(all, 2)) {
    CAPTURE(known.d);
    CAPTURE(known.load);
    const classic_choices rule(known.d);
    const path_length length{400'000 * times_as_many, .2};
    check_contains(simulated(many, "random", &rule, known.load, length, classic(known.d)), known.response,
                   of_finite, .01);
  }
}

TEST_CASE("theory: 500 simulated workers under two_choices approach its mean field") {
  for (const double load : {.7, .9}) {
    CAPTURE(load);
    check_simulated(many, "two_choices", load, {400'000 * times_as_many, .2}, of_waiting, of_finite, .01);
  }
}

TEST_CASE("theory: under random each simulated worker is an M/M/1 queue") {
  check_simulated(50, "random", .7, {200'000 * times_as_many, .1}, of_one_worker, .002, .02);
  check_simulated(50, "random", .9, {600'000 * times_as_many, .2}, of_one_worker, .005, .05);
}
