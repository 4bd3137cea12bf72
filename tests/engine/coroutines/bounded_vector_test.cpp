// The elements of a bounded_vector: all are destroyed once, also those of one that could not be filled.

#include <corewise/engine/bounded_vector.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>

using corewise::bounded_vector;

TEST_CASE("bounded_vector: it holds up to so many elements, and refuses one more") {
  bounded_vector<std::unique_ptr<int>, 2> v;
  CHECK(v.empty());
  v.push_back(std::make_unique<int>(1));
  v.push_back(std::make_unique<int>(2));
  CHECK_THROWS_AS(v.push_back(std::make_unique<int>(3)), std::length_error);
  CHECK(v.size() == v.capacity());
  CHECK(*v.front() == 1);
  const bounded_vector<std::unique_ptr<int>, 2> moved(std::move(v));
  CHECK(v.empty()); // NOLINT(bugprone-use-after-move): a promise of its own
  CHECK(moved.size() == 2);
  CHECK(*moved[1] == 2);
}

TEST_CASE("bounded_vector: what was made before an exception is destroyed") {
  const auto alive = std::make_shared<int>();
  using copies = bounded_vector<std::shared_ptr<int>, 4>;
  const auto fails_at_third = [&](std::size_t i) {
    if (i == 2) throw std::runtime_error("third");
    return alive;
  };
  CHECK_THROWS_AS(copies(3, fails_at_third), std::runtime_error);
  CHECK(alive.use_count() == 1);
  {
    const copies two(2, fails_at_third);
    CHECK(alive.use_count() == 3);
  }
  CHECK(alive.use_count() == 1);
  CHECK_THROWS_AS(copies(5, [&](std::size_t) { return alive; }), std::length_error);
  CHECK(alive.use_count() == 1);
}
