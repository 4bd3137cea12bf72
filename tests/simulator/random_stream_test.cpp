#include <corewise/simulator/random_stream.hpp>

#include <doctest/doctest.h>

using namespace corewise;

TEST_CASE("a stream repeats for the same seed and name only") {
  random_stream a(1, 2), same(1, 2), other_name(1, 3), other_seed(2, 2);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t x = a.next();
    CHECK(x == same.next());
    CHECK(x != other_name.next());
    CHECK(x != other_seed.next());
  }
}

TEST_CASE("exponential numbers have mean and deviation 1, normal ones 0 and 1") {
  random_stream random(7, 0);
  constexpr int n = 200'000;
  double sum = 0, squares = 0, normal_sum = 0, normal_squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = random.exponential(), y = random.normal();
    sum += x, squares += x * x;
    normal_sum += y, normal_squares += y * y;
  }
  CHECK(sum / n == doctest::Approx(1).epsilon(0.01));
  CHECK(squares / n == doctest::Approx(2).epsilon(0.02));
  CHECK(normal_sum / n == doctest::Approx(0).epsilon(0.01).scale(1));
  CHECK(normal_squares / n == doctest::Approx(1).epsilon(0.01));
}
