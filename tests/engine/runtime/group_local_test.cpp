#include "small_engine.hpp"

#include <corewise/engine/first_touch.hpp>
#include <corewise/engine/group_local.hpp>
#include <corewise/engine/parallel_reduce.hpp>
#include <corewise/engine/when_all.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory_resource>
#include <numeric>
#include <string>
#include <unordered_map>
#include <unordered_set>

using namespace corewise;

namespace {

/// Counts its living objects.
struct counted {
  explicit counted(std::atomic<int>& all) : living(all) { living.fetch_add(1); }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { living.fetch_sub(1); }
  std::atomic<int>& living;
};

/// A machine of two nodes with two caches of two cores each.
profile two_node_profile() {
  profile p = small_profile(0);
  p.topology.groups.group_by = domain_kind::llc;
  p.workers.total.reset();
  p.topology.machine.source = synthetic_source{"pack:1 numa:2 l3:2 core:2 pu:1"};
  return p;
}

} // namespace

TEST_CASE("group_local: a task finds the object of its worker's group, built once") {
  profile p = two_package_profile(4);
  p.steal.policy = "none"; // else one group may run all of it
  engine e(p);
  std::atomic<int> built{0};
  group_local<std::atomic<int>> sums(e, [&] {
    built.fetch_add(1);
    return 0;
  });
  CHECK(built == 0);
  for (int i = 0; i < 1000; ++i)
    for (std::uint32_t g = 0; g < 2; ++g)
      CHECK(e.submit(
                [&] {
                  const group_id here = e.workers()[e.this_worker().value()].group;
                  CHECK(&sums.local() == &sums.at(here));
                  sums.local().fetch_add(1);
                },
                {.group = group_id{g}}) == submit_result::accepted);
  e.drain();
  CHECK(built == 2);
  int all = 0;
  sums.for_each([&](const std::atomic<int>& sum) { all += sum; });
  CHECK(all == 2000);
  CHECK(&sums.at(group_id{0}) != &sums.at(group_id{1}));
  CHECK_THROWS_AS(sums.at(group_id{2}), std::out_of_range);
}

TEST_CASE("group_local: an unused object is not built, and built ones are destroyed with it, also after the "
          "engine") {
  std::atomic<int> living{0};
  std::optional<group_local<counted>> objects;
  {
    engine e(two_package_profile(1));
    objects.emplace(e, [&] { return counted(living); });
    CHECK(objects->at(group_id{1}).living == 1);
    static_cast<void>(objects->local()); // a thread that is not the engine's gets the object of some group
    CHECK(living <= 2);
  }
  int seen = 0;
  objects->for_each([&](const counted&) { ++seen; });
  CHECK(seen == living);
  CHECK(seen >= 1);
  objects.reset();
  CHECK(living == 0);
}

TEST_CASE("group_local: the groups of a node can share one object") {
  engine e(two_node_profile());
  REQUIRE(e.groups().size() == 4);
  group_local<int> by_node(e, [] { return 0; }, local_to::node);
  CHECK(&by_node.at(group_id{0}) == &by_node.at(group_id{1}));
  CHECK(&by_node.at(group_id{1}) != &by_node.at(group_id{2}));
  CHECK(&by_node.at(group_id{2}) == &by_node.at(group_id{3}));
}

TEST_CASE("group_local: when construction throws, the next caller tries again") {
  engine e(small_profile(1));
  int tries = 0;
  group_local<int> one(e,
                       [&]() -> int { return ++tries == 1 ? throw std::runtime_error("not yet") : tries; });
  CHECK_THROWS_AS(one.at(group_id{0}), std::runtime_error);
  CHECK(one.at(group_id{0}) == 2);
  CHECK(one.at(group_id{0}) == 2);
}

TEST_CASE("group_local: an object that takes an allocator gets the group's memory") {
  engine e(two_package_profile(1));
  group_local<std::pmr::vector<int>> lists(e);
  for (std::uint32_t g = 0; g < 2; ++g)
    CHECK(lists.at(group_id{g}).get_allocator().resource()->is_equal(e.memory(group_id{g})));
  group_local<std::pmr::unordered_map<int, int>> caches(
      e, [](std::pmr::memory_resource& memory) { return std::pmr::unordered_map<int, int>(&memory); });
  caches.at(group_id{1})[3] = 4;
  CHECK(caches.at(group_id{1}).at(3) == 4);
  CHECK(caches.at(group_id{0}).empty());
  group_local<std::array<double, 3>> zeros(e);
  CHECK(zeros.at(group_id{0})[2] == 0);
}

TEST_CASE("memory: any thread may allocate any size and alignment, and freed memory is used again") {
  engine e(two_package_profile(2));
  CHECK_THROWS_AS(e.memory(group_id{2}), std::out_of_range);
  std::pmr::memory_resource& memory = e.memory(group_id{0});
  CHECK_FALSE(memory.is_equal(e.memory(group_id{1})));
  for (std::size_t alignment = 1; alignment <= 65536; alignment *= 4) {
    std::vector<void*> taken;
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{5'000'000}}) {
      void* const data = memory.allocate(bytes, alignment);
      CHECK(reinterpret_cast<std::uintptr_t>(data) % alignment == 0);
      std::fill_n(static_cast<char*>(data), bytes, 'x');
      memory.deallocate(data, bytes, alignment);
    }
  }
  const auto fill = [&](std::uint32_t seed) -> task<std::size_t> {
    std::pmr::unordered_map<std::uint32_t, std::pmr::string> words(&memory);
    for (std::uint32_t i = 0; i < 2000; ++i) {
      words[(i * 7919 + seed) % 500] = std::pmr::string(i % 100 + 1, 'w', &memory);
      if (i % 3 == 0) words.erase((i * 31 + seed) % 500);
    }
    co_return words.size();
  };
  const auto all = [&]() -> task<> {
    const auto [a, b, c, d] = co_await when_all(fill(1), fill(2), fill(3), fill(4));
    CHECK(a * b * c * d != 0);
  };
  sync_wait(e, all());
  void* const first = memory.allocate(64);
  memory.deallocate(first, 64);
  void* const again = memory.allocate(64);
  CHECK(again == first);
  memory.deallocate(again, 64);
}

TEST_CASE("first_touch: each element is made once, and loops over it give the same result as serial ones") {
  for (const profile& p : {small_profile(1), two_package_profile(2), two_node_profile()}) {
    engine e(p);
    const auto all = [&]() -> task<> {
      for (const std::size_t size : {0U, 1U, 1000U, 300'000U}) {
        std::atomic<std::size_t> made{0};
        const auto make = [&](std::size_t i) {
          made.fetch_add(1, std::memory_order_relaxed);
          return static_cast<double>(i);
        };
        first_touch_array<double> numbers = co_await make_first_touch<double>(size, make);
        CHECK(made == size);
        REQUIRE(numbers.size() == size);
        co_await parallel_for(numbers, [](double& x) { x += 1; });
        const double sum = co_await parallel_reduce(
            blocked(numbers), 0.0,
            [](std::span<const double> part) { return std::accumulate(part.begin(), part.end(), 0.0); },
            std::plus<>{});
        const auto n = static_cast<double>(size);
        CHECK(sum == n * (n + 1) / 2);
        const first_touch_array<double> moved = std::move(numbers);
        CHECK(moved.size() == size);
        CHECK(std::accumulate(moved.begin(), moved.end(), 0.0) == sum);
      }
    };
    sync_wait(e, all());
  }
}

TEST_CASE("first_touch: parts are dealt as they were when they were written") {
  engine e(two_package_profile(2));
  const auto all = [&]() -> task<> {
    const first_touch_array<char> bytes =
        co_await make_first_touch<char>(1001, [](std::size_t) { return 'x'; });
    REQUIRE(bytes.loop_shares().size() == 2);
    CHECK(bytes.loop_shares()[0].end == 500);
    CHECK(bytes.loop_shares()[1].end == 1001);
    CHECK(bytes.loop_shares()[1].group == group_id{1});
    const auto positions = detail::positions_of(bytes);
    CHECK(positions.shares == &bytes.loop_shares());
  };
  sync_wait(e, all());
}

TEST_CASE(
    "first_touch: loops over it are dealt as it was written, also after a reload has changed the shares") {
  profile p = two_package_profile(2);
  p.workers.per_group.reset();
  p.workers.total = 4;
  p.steal.policy = "none"; // each group runs the part that it was dealt
  profile fewer = p;
  fewer.workers.total = 3;
  engine e(p);
  constexpr std::size_t size = 12'000;
  const auto group_here = [&] { // takes a while, so that loops are dealt out soon
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds{300};
    while (std::chrono::steady_clock::now() < until) {
    }
    return e.workers()[e.this_worker().value()].group.value;
  };
  const auto all = [&]() -> task<> {
    first_touch_array<std::uint32_t> done_by =
        co_await make_first_touch<std::uint32_t>(size, [&](std::size_t) { return group_here(); });
    // The caller does the elements before a loop's first look, wherever it is; but these are fewer than half
    // of all.
    CHECK(done_by[size / 2 - 1] == 0);
    CHECK(done_by[size / 2] == 1);
    REQUIRE(e.apply(fewer).applied());
    std::vector<std::uint32_t> plain(size);
    co_await parallel_for(plain, [&](std::uint32_t& group) { group = group_here(); });
    CHECK(plain[size * 2 / 3 - 1] == 0); // group 0 has two workers now, group 1 has one
    CHECK(plain[size * 2 / 3] == 1);
    co_await parallel_for(done_by, [&](std::uint32_t& group) { group = group_here(); });
    CHECK(done_by[size / 2 - 1] == 0);
    CHECK(std::count(done_by.begin() + size / 2, done_by.end(), 1U) == size / 2);
  };
  e.run(all()).get();
}

TEST_CASE(
    "first_touch: an exception of an element's constructor is thrown, and no number of elements overflows") {
  engine e(small_profile(2));
  const auto fails = [&]() -> task<> {
    const auto a =
        co_await make_first_touch<int>(1000, [](std::size_t i) -> int { return i == 7 ? throw 7 : 0; });
    CHECK(a.empty()); // not reached
  };
  CHECK_THROWS_AS(sync_wait(e, fails()), int);
  const auto too_many = [&]() -> task<> {
    const auto a = co_await make_first_touch<int>(~std::size_t{0} / 2, [](std::size_t) { return 0; });
    CHECK(a.empty()); // not reached
  };
  CHECK_THROWS_AS(sync_wait(e, too_many()), std::bad_alloc);
}
