#include "interval.hpp"
#include "made_machine.hpp"
#include "mean_field.hpp"
#include "policies/situation.hpp"

#include <algorithm>

// As many tasks as workers, none of which ever ends: how many does the unluckiest worker get? Drawn at random
// about log n / log log n, with two choices log log n / log 2 + O(1).

using namespace corewise;
using namespace corewise::tests;

namespace {

/// The load of a worker to which so many tasks have come. The theory counts tasks that wait; if the first one
/// ran, `two_choices` would not see it.
worker_load waiting(std::uint32_t tasks) { return {tasks, 0, 0}; }
worker_load first_runs(std::uint32_t tasks) { return {tasks - 1, 0, 1}; }

class throwing {
 public:
  throwing(std::uint32_t n, const char* policy, worker_load (*shown)(std::uint32_t))
      : s_(build(one_kind(1, n)), {}, {}, {domain_kind::machine, 0}, policy),
        shown_(shown) {}

  /// The mean of the fullest worker over many throws.
  interval fullest() {
    const auto throws = static_cast<std::uint32_t>(times_as_many * 40'960 / s_.workers().size() + 8);
    return repeat([&](std::uint64_t seed) {
      placement_rng rng(seed);
      double sum = 0;
      for (std::uint32_t i = 0; i < throws; ++i) sum += throw_all(rng);
      return sum / throws;
    });
  }

 private:
  std::uint32_t throw_all(placement_rng& rng) {
    std::vector<std::uint32_t> has(s_.workers().size());
    for (std::uint32_t w = 0; w < has.size(); ++w) s_.boards().set_load({w}, 0);
    placement_cursor cursor;
    for (std::size_t i = 0; i < has.size(); ++i) {
      const worker_id w = s_.rule().place(s_.view(), s_.on_cpu(0), {}, rng, cursor).worker;
      s_.boards().set_load(w, shown_(++has[w.value]));
    }
    return *std::ranges::max_element(has);
  }

  situation s_;
  worker_load (*shown_)(std::uint32_t);
};

interval fullest(std::uint32_t n, const char* policy, worker_load (*shown)(std::uint32_t) = waiting) {
  return throwing(n, policy, shown).fullest();
}

} // namespace

TEST_CASE("theory: the fullest worker grows as Poisson says at random, and hardly at all with two choices") {
  std::vector<double> at_random, of_two;
  for (const std::uint32_t n : {64U, 256U, 1024U, 4096U}) {
    CAPTURE(n);
    const interval random = fullest(n, "random");
    const interval two = fullest(n, "two_choices");
    const double as_if_independent = .005 + 2. / n; // the theory's error
    check_contains(random, mean_of_fullest(n, 1), as_if_independent, .06);
    check_contains(two, mean_of_fullest(n, 2), as_if_independent, .04);
    at_random.push_back(random.mean);
    of_two.push_back(two.mean);
  }
  CAPTURE(first_seed);
  CHECK(at_random.back() - at_random.front() > 1.5);
  CHECK(of_two.back() - of_two.front() < 1);
}

TEST_CASE("theory: without running tasks in the load, two choices is off by at most one task") {
  for (const std::uint32_t n : {64U, 1024U}) {
    const double classic = fullest(n, "two_choices").mean;
    const double as_it_runs = fullest(n, "two_choices", first_runs).mean;
    CAPTURE(n);
    CAPTURE(first_seed);
    CHECK(as_it_runs >= classic);
    CHECK(as_it_runs <= classic + 1);
  }
}
