#include "recording/recording.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <vector>

using corewise::detail::engine_registration;
using corewise::detail::registrations;

namespace {

bool table_has(const engine_registration& p) {
  return std::any_of(registrations.begin(), registrations.end(),
                     [&](const auto& at) { return at.load(std::memory_order_relaxed) == &p; });
}

} // namespace

TEST_CASE("engine_registration: 256 engines have numbers of their own, and the others are not in the table") {
  std::vector<std::unique_ptr<engine_registration>> all;
  std::set<std::uint8_t> numbers;
  for (std::size_t i = 0; i < registrations.size(); ++i) {
    const engine_registration& p = *all.emplace_back(std::make_unique<engine_registration>());
    REQUIRE(p.in_table());
    CHECK(registrations[p.number().value()].load(std::memory_order_relaxed) == &p);
    numbers.insert(p.number().value());
  }
  CHECK(numbers.size() == registrations.size());

  std::optional<engine_registration> more(std::in_place);
  CHECK_FALSE(more->in_table());
  CHECK_FALSE(table_has(*more));
  more.reset();
  CHECK(std::all_of(all.begin(), all.end(), [](const auto& p) { return table_has(*p); }));

  const std::uint8_t freed = all[100]->number().value();
  all.erase(all.begin() + 100);
  const engine_registration next;
  CHECK(next.in_table());
  CHECK(next.number().value() == freed);
}

TEST_CASE("engine_registration: a number that became free is given again as late as possible") {
  std::uint8_t last = engine_registration().number().value();
  for (std::size_t i = 1; i < registrations.size(); ++i) {
    const std::uint8_t number = engine_registration().number().value();
    CHECK(number == static_cast<std::uint8_t>(last + 1));
    last = number;
  }
}
