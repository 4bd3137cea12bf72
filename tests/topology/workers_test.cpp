#include "made_machine.hpp"

#include <corewise/topology/error.hpp>
#include <corewise/topology/workers.hpp>

#include <doctest/doctest.h>

using namespace corewise;
using namespace corewise::tests;

namespace {

using numbers = std::vector<std::uint32_t>;

struct laid_out {
  topology machine;
  locality_groups groups;
  worker_layout layout;

  laid_out(const made_machine& made, const worker_options& options, const grouping_options& grouping = {})
      : machine(build(made)),
        groups(machine, grouping),
        layout(machine, groups, options) {}

  numbers per_group() const {
    numbers counts;
    for (const auto& g : groups.groups())
      counts.push_back(static_cast<std::uint32_t>(layout.of_group(g.id).size()));
    return counts;
  }
  numbers cpus() const {
    numbers list;
    for (const auto& w : layout.workers()) list.push_back(w.cpu);
    return list;
  }
};

worker_options automatic(std::optional<std::uint32_t> start_cpu = {}, smt_use smt = smt_use::one_per_core) {
  return {smt, {}, {}, start_cpu};
}
worker_options total(std::uint32_t n) { return {smt_use::one_per_core, {}, n, {}}; }
worker_options per_group(std::uint32_t n, smt_use smt = smt_use::one_per_core) { return {smt, n, {}, {}}; }

made_machine with_quota(made_machine made, double quota) {
  made.quota_cpus = quota;
  return made;
}

/// One cache; cores of 2, 1 and 2 hardware threads.
made_machine uneven_threads() {
  made_machine made;
  made.cores = {{"0,10", 0U, 0U, 0U}, {"1", 0U, 0U, 0U}, {"2,12", 0U, 0U, 0U}};
  return made;
}

} // namespace

TEST_CASE("workers: by default there is one for each core, numbered by groups and then cores") {
  const laid_out made(two_hybrid_sockets(), automatic());
  CHECK(made.per_group() == numbers{8, 8, 8, 8});
  REQUIRE(made.layout.size() == 32);
  for (std::uint32_t i = 0; i < 32; ++i) {
    const worker_place& w = made.layout[{i}];
    CHECK(w.id.value == i);
    CHECK(w.cpu == i);
    CHECK(w.core == i);
    CHECK(w.group == made.groups.group_of_cpu(w.cpu));
  }
}

TEST_CASE("workers: with all hardware threads each core has one worker before any has two") {
  CHECK(laid_out(uneven_threads(), automatic({}, smt_use::all)).cpus() == numbers{0, 1, 2, 10, 12});
  CHECK(laid_out(uneven_threads(), automatic()).cpus() == numbers{0, 1, 2});
}

TEST_CASE("workers: a CPU has the first worker of that CPU, or otherwise of its core") {
  const auto at_cpus = [](const laid_out& made, const numbers& cpus) {
    std::vector<std::optional<std::uint32_t>> list;
    for (const std::uint32_t cpu : cpus) {
      const std::optional<worker_id> w = made.layout.at_cpu(cpu);
      list.push_back(w ? std::optional(w->value) : std::nullopt);
    }
    return list;
  };
  using found = std::vector<std::optional<std::uint32_t>>;
  const numbers cpus{0, 1, 2, 10, 12, 3, 70000};
  CHECK(at_cpus({uneven_threads(), automatic({}, smt_use::all)}, cpus) == found{0, 1, 2, 3, 4, {}, {}});
  CHECK(at_cpus({uneven_threads(), automatic()}, cpus) == found{0, 1, 2, 0, 2, {}, {}});
  CHECK(at_cpus({uneven_threads(), per_group(5)}, cpus) == found{0, 1, 2, 0, 2, {}, {}});
  CHECK(at_cpus({uneven_threads(), total(1)}, cpus) == found{0, {}, {}, 0, {}, {}, {}});
}

TEST_CASE("workers: an explicit number in each group is dealt in turn over the cores, and may exceed them") {
  CHECK(laid_out(uneven_threads(), per_group(5)).cpus() == numbers{0, 1, 2, 0, 1});
  CHECK(laid_out(uneven_threads(), per_group(7, smt_use::all)).cpus() == numbers{0, 1, 2, 10, 12, 0, 1});
  CHECK(laid_out(with_quota(two_hybrid_sockets(), 2), per_group(3)).per_group() == numbers{3, 3, 3, 3});
}

TEST_CASE("workers: the part of a quota that is a whole number is not rounded up") {
  worker_options part = automatic();
  part.quota_part = 7.0 / (7.0 + 18.0);
  REQUIRE(25 * part.quota_part > 7); // by the rounding of doubles
  CHECK(laid_out(with_quota(one_kind(1, 32), 25), part).layout.size() == 7);
}

TEST_CASE("workers: a quota is rounded up, and leaves at least one worker") {
  CHECK(laid_out(with_quota(one_kind(1, 8), 0.25), automatic()).layout.size() == 1);
  CHECK(laid_out(with_quota(one_kind(1, 8), 2), automatic()).layout.size() == 2);
  CHECK(laid_out(with_quota(one_kind(1, 8), 2.01), automatic()).layout.size() == 3);
  CHECK(laid_out(with_quota(one_kind(1, 8), 8), automatic()).layout.size() == 8);
  CHECK(laid_out(with_quota(one_kind(1, 8), 1000), automatic()).layout.size() == 8);
}

TEST_CASE("workers: a quota takes whole domains, the starting one first, then outward") {
  const made_machine made = with_quota(one_kind(4, 4), 6);
  CHECK(laid_out(made, automatic()).per_group() == numbers{4, 2, 0, 0});
  CHECK(laid_out(made, automatic(9)).per_group() == numbers{0, 0, 4, 2});
  CHECK(laid_out(made, automatic(15)).per_group() == numbers{2, 0, 0, 4});
  CHECK(laid_out(made, automatic(77)).per_group() == numbers{4, 2, 0, 0}); // no CPU of this machine
  CHECK(laid_out(made, automatic(9)).cpus() == numbers{8, 9, 10, 11, 12, 13});
}

TEST_CASE("workers: a quota takes near domains before far ones") {
  made_machine made = with_quota(one_kind(4, 2), 4);
  made.distances = {{10, 40, 20, 40}, {40, 10, 40, 20}, {20, 40, 10, 40}, {40, 20, 40, 10}};
  CHECK(laid_out(made, automatic(0)).per_group() == numbers{2, 0, 2, 0});
  CHECK(laid_out(made, automatic(3)).per_group() == numbers{0, 2, 0, 2});
}

TEST_CASE(
    "workers: inside a domain a quota takes the fastest kind first, and of its groups the starting one") {
  CHECK(laid_out(with_quota(two_hybrid_sockets(), 10), automatic(25)).per_group() == numbers{0, 0, 8, 2});
  const laid_out cut(with_quota(two_hybrid_sockets(), 6), automatic(22), {domain_kind::llc, 4});
  CHECK(cut.per_group() == numbers{0, 0, 0, 0, 2, 4, 0, 0});
}

TEST_CASE("workers: a total is dealt by capacity and ignores the quota") {
  CHECK(laid_out(with_quota(two_hybrid_sockets(), 1), total(48)).per_group() == numbers{16, 8, 16, 8});
  CHECK(laid_out(two_hybrid_sockets(), total(1)).per_group() == numbers{1, 0, 0, 0});
  CHECK(laid_out(two_hybrid_sockets(), total(2)).per_group() == numbers{1, 0, 1, 0});
  CHECK(laid_out(two_hybrid_sockets(), total(3)).per_group() == numbers{1, 1, 1, 0});
  CHECK(laid_out(two_hybrid_sockets(), total(4)).per_group() == numbers{1, 1, 1, 1});
  CHECK(laid_out(one_kind(1, 2), total(64)).per_group() == numbers{64});
  CHECK(laid_out(one_kind(3, 1), total(7)).per_group() == numbers{3, 2, 2});
}

TEST_CASE("workers: each total is dealt in full") {
  for (std::uint32_t n = 1; n < 200; ++n) {
    CAPTURE(n);
    CHECK(laid_out(two_hybrid_sockets(333), total(n)).layout.size() == n);
  }
}

TEST_CASE("workers: a total wins over a number in each group") {
  CHECK(laid_out(one_kind(2, 2), {smt_use::one_per_core, 7, 4, {}}).per_group() == numbers{2, 2});
}

TEST_CASE("workers: no workers and too many workers are refused with a reason") {
  CHECK_THROWS_WITH_AS(laid_out(one_kind(1, 1), total(0)),
                       "0 workers in all were asked for; 1 to 65536 are possible", topology_error);
  CHECK_THROWS_WITH_AS(laid_out(one_kind(1, 1), per_group(0)),
                       "0 workers per group were asked for; 1 to 65536 are possible", topology_error);
  CHECK_THROWS_AS(laid_out(one_kind(1, 1), total(65537)), topology_error);
  CHECK(laid_out(one_kind(1, 1), total(65536)).layout.size() == 65536);
  CHECK_THROWS_WITH_AS(laid_out(one_kind(2, 1), per_group(40000)),
                       "40000 workers in each of 2 groups make 80000; at most 65536 are possible",
                       topology_error);
}

TEST_CASE("workers: seats of the headroom come behind a group's workers, for quotas that grow") {
  const auto with_headroom = [](std::optional<std::uint32_t> headroom, worker_options options = {}) {
    options.headroom = headroom;
    return options;
  };
  const laid_out by_quota(with_quota(one_kind(1, 16), 1.5), with_headroom({}));
  CHECK(by_quota.layout.size() == 8);
  CHECK(by_quota.layout.at_begin({0}) == 2);
  CHECK(laid_out(with_quota(one_kind(1, 6), 1.5), with_headroom({})).layout.size() == 6);
  CHECK(laid_out(with_quota(one_kind(1, 16), 1.5), with_headroom(3U)).layout.size() == 8); // no fewer
  CHECK(laid_out(with_quota(one_kind(1, 16), 1.5), with_headroom(7U)).layout.size() == 9);
  CHECK(laid_out(with_quota(one_kind(1, 16), 1.5), with_headroom(99U)).layout.size() == 16);
  CHECK(laid_out(with_quota(one_kind(1, 16), 1.5), with_headroom(0U)).layout.size() == 2);
  CHECK(laid_out(with_quota(one_kind(1, 16), 1), with_headroom(3U)).layout.size() == 4);
  CHECK(laid_out(with_quota(one_kind(1, 16), 1), with_headroom({})).layout.size() == 4); // one too
  CHECK(laid_out(one_kind(1, 16), with_headroom({})).layout.size() == 16);

  const laid_out of_total(two_hybrid_sockets(), with_headroom(4U, total(8)));
  CHECK(of_total.layout.size() == 12);
  std::uint32_t at_begin = 0;
  for (const auto& g : of_total.groups.groups()) at_begin += of_total.layout.at_begin(g.id);
  CHECK(at_begin == 8);
  CHECK(laid_out(two_hybrid_sockets(), with_headroom({}, total(8))).layout.size() == 8);
  CHECK(laid_out(two_hybrid_sockets(), with_headroom(5U, per_group(3))).per_group() == numbers{5, 5, 5, 5});
}

TEST_CASE("workers: counts obey what the host allows now, and a given number stays where there are CPUs") {
  const laid_out made(two_hybrid_sockets(), automatic());
  const auto counted = [&](const worker_options& options, const char* cpus,
                           std::optional<double> quota = {}) {
    return worker_counts(made.machine, made.groups, options, {cpu_set::parse(cpus).value(), {}, quota});
  };
  const std::string all = made.machine.cpus().to_string();
  CHECK(counted(automatic(), all.c_str()) == made.per_group());
  CHECK(counted(automatic(), all.c_str(), 3.2) == numbers{4, 0, 0, 0});
  const std::string second = made.groups[{1}].cpus.to_string();
  CHECK(counted(automatic(), second.c_str()) == numbers{0, 8, 0, 0});
  CHECK(counted(per_group(3), second.c_str(), 1.0) == numbers{0, 3, 0, 0});
  CHECK(counted(automatic(), "4000-4999") == made.per_group());    // none of its CPUs: as before,
  CHECK(counted(automatic(), "4000-4002") == numbers{3, 0, 0, 0}); // but no more than run there
  CHECK(counted(automatic(), "4000-4002", 2.0) == numbers{2, 0, 0, 0});
}
