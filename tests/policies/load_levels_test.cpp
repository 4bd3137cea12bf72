#include <corewise/policies/load_view.hpp>

#include <doctest/doctest.h>

#include <random>
#include <thread>
#include <vector>

using namespace corewise;

namespace {

/// A board without board entries: idle bits and levels.
struct levels_of {
  explicit levels_of(std::size_t workers) : count(workers), board(workers, nullptr) {}

  std::size_t count;
  group_board board;

  load_levels::least by_looking_at_each(std::size_t b, std::uint64_t excluded) const {
    load_levels::least found;
    for (std::size_t index = b * 64; index < std::min(count, b * 64 + 64); ++index) {
      if ((excluded >> (index % 64) & 1) != 0) continue;
      const std::uint8_t level = board.levels.at(index);
      if (level < found.level) found = {level, 0};
      if (level == found.level) found.workers |= std::uint64_t{1} << (index % 64);
    }
    return found;
  }
};

} // namespace

TEST_CASE("load levels: a level is exact up to a load of 15, and then to three binary digits") {
  std::uint8_t before = 0;
  for (std::uint32_t load = 0; load < 100'000; ++load) {
    const std::uint8_t level = load_level(load);
    REQUIRE(level >= before);
    REQUIRE(level - before <= 1);
    REQUIRE(least_load_of(level) <= load);
    REQUIRE(load < least_load_of(static_cast<std::uint8_t>(level + 1)));
    REQUIRE(is_exact(level) == (load < 16));
    if (is_exact(level)) REQUIRE(least_load_of(level) == load);
    before = level;
  }
  CHECK(load_level(4294967295U) < load_levels::no_worker);
}

TEST_CASE(
    "load levels: one task more never gives a lower level, and changes the level while levels are exact") {
  for (std::uint32_t level = 0; level < load_level(4294967295U); ++level) {
    const std::uint8_t next = next_level(static_cast<std::uint8_t>(level));
    CHECK(next >= level);
    if (level < 16) CHECK(next == level + 1);
  }
}

TEST_CASE("load levels: the least of any number of workers is found, with any one excluded") {
  std::mt19937_64 random(1);
  for (const std::size_t workers : {1U, 2U, 15U, 16U, 17U, 40U, 63U, 64U, 65U, 100U, 129U}) {
    CAPTURE(workers);
    levels_of some(workers);
    for (int i = 0; i < 2000; ++i) {
      some.board.levels.publish(random() % workers, static_cast<std::uint8_t>(random() % 20));
      const std::size_t b = random() % worker_bits::words_for(workers);
      std::uint64_t excluded = i % 3 == 0 ? 0 : random();
      excluded &= random(); // a quarter of them
      const load_levels::least expected = some.by_looking_at_each(b, excluded);
      const load_levels::least found = some.board.levels.least_of(b, excluded);
      REQUIRE(found.level == expected.level);
      if (expected.level != load_levels::no_worker) REQUIRE(found.workers == expected.workers);
    }
    CHECK(some.board.levels.least_of(0, ~std::uint64_t{0}).level == load_levels::no_worker);
  }
}

TEST_CASE("load levels: a group's level is that of its lightest worker") {
  constexpr std::size_t workers = 20;
  levels_of group(workers);
  alignas(16) unsigned char bytes[load_levels::bytes_for(3)];
  load_levels of_groups(bytes, 3);
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    publish_level(group.board, random() % workers, static_cast<std::uint8_t>(random() % 8), &of_groups, {2});
    REQUIRE(of_groups.at(2) == group.board.levels.least_of_all());
  }
  CHECK(of_groups.at(1) == 0);
}

TEST_CASE("load levels: a level that threads missed when they published together is right after one of them "
          "looks again") {
  constexpr std::size_t workers = 4;
  levels_of group(workers);
  alignas(16) unsigned char bytes[load_levels::bytes_for(1)];
  load_levels of_groups(bytes, 1);
  {
    std::vector<std::jthread> threads;
    for (std::size_t w = 0; w < workers; ++w)
      threads.emplace_back([&, w] {
        std::mt19937 random(static_cast<unsigned>(w));
        for (int i = 0; i < 20'000; ++i)
          publish_level(group.board, w, static_cast<std::uint8_t>(1 + random() % 8), &of_groups, {0});
      });
  }
  publish_least(group.board, of_groups, {0});
  CHECK(of_groups.at(0) == group.board.levels.least_of_all());
}
