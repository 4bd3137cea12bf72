#include "situation.hpp"

#include <corewise/topology/discovery.hpp>

#include <doctest/doctest.h>

// Two sockets of 8 P-cores (capacity 1024) and 8 E-cores (512) each, described by hand. Workers and CPUs have
// the same numbers: P 0-7, E 8-15 on the first socket, P 16-23, E 24-31 on the second.

using namespace corewise;
using namespace corewise::tests;

namespace {

topology two_sockets() {
  machine_description described;
  described.source = synthetic_source{"pack:2 numa:1 l3:1 core:16 pu:1"};
  described.kinds = {{cpu_set::parse("0-7,16-23").value(), "P", 1024},
                     {cpu_set::parse("8-15,24-31").value(), "E", 512}};
  return discover(described);
}

constexpr std::uint32_t first_p = 0;
constexpr std::uint32_t first_e = 8;
constexpr std::uint32_t second_p = 16;
constexpr std::uint32_t second_e = 24;

/// The worker that a task from outside goes to from each CPU of a socket, if it is the same for all of them.
std::optional<std::uint32_t> chosen_from_socket(const situation& s, std::uint32_t socket) {
  const std::uint32_t first = socket * 16;
  const worker_id chosen = s.place(s.on_cpu(first)).worker;
  for (std::uint32_t cpu = first; cpu < first + 16; ++cpu)
    if (s.place(s.on_cpu(cpu)).worker != chosen) return std::nullopt;
  return chosen.value;
}

} // namespace

TEST_CASE("two sockets: idle, a task from any CPU goes to a P-core of its socket") {
  const situation s(two_sockets());
  REQUIRE(s.workers().size() == 32);
  CHECK(chosen_from_socket(s, 0) == first_p);
  CHECK(chosen_from_socket(s, 1) == second_p);
  CHECK(s.place(s.on_cpu(12)).reason == placement_reason::idle_nearby);
  CHECK(s.place(s.on_cpu(12)).level == level::same_group); // from outside, all of the domain is home
}

TEST_CASE("two sockets: equally loaded, a task from any CPU goes to a P-core of its socket") {
  situation s(two_sockets());
  for (const std::uint32_t n : {1U, 2U, 7U, 100U}) {
    CAPTURE(n);
    s.load(0, 31, n);
    CHECK(chosen_from_socket(s, 0) == first_p);
    CHECK(chosen_from_socket(s, 1) == second_p);
  }
}

TEST_CASE("two sockets: an E-core gets the task if the task ends earlier there, and not one step below") {
  situation s(two_sockets());
  // Expected delays: P (n + 1) × 1, E (n + 1) × 2.
  s.load(0, 7, 1);
  SUBCASE("P 1, E 0: both 2, and the higher capacity wins") { CHECK(chosen_from_socket(s, 0) == first_p); }
  SUBCASE("P 2, E 0: 3 against 2") {
    s.load(0, 7, 2);
    CHECK(chosen_from_socket(s, 0) == first_e);
    CHECK(s.place(s.on_cpu(0)).reason == placement_reason::least_cost);
  }
  SUBCASE("P 2 except one P, E 0: that P") {
    s.load(0, 7, 2);
    s.load(5, 5, 1);
    CHECK(chosen_from_socket(s, 0) == 5);
  }
  SUBCASE("P 3, E 1: both 4") {
    s.load(0, 7, 3);
    s.load(8, 15, 1);
    CHECK(chosen_from_socket(s, 0) == first_p);
  }
  SUBCASE("P 4, E 1: 5 against 4") {
    s.load(0, 7, 4);
    s.load(8, 15, 1);
    CHECK(chosen_from_socket(s, 0) == first_e);
  }
  SUBCASE("P 4, E 2: 5 against 6") {
    s.load(0, 7, 4);
    s.load(8, 15, 2);
    CHECK(chosen_from_socket(s, 0) == first_p);
  }
}

TEST_CASE("two sockets: a task crosses only when its own socket costs more than cross_package") {
  situation s(two_sockets());
  // At home P costs n + 1 and E is full; across an idle P costs 1 + 16.
  s.load(8, 15, 1000);
  for (const std::uint32_t n : {15U, 16U, 17U}) {
    CAPTURE(n);
    s.load(0, 7, n);
    CHECK(chosen_from_socket(s, 0) == (n <= 16 ? first_p : second_p));
  }
  CHECK(s.place(s.on_cpu(0)).level == level::cross_package);
  CHECK(s.place(s.on_cpu(0)).cost == 17);
}

TEST_CASE("two sockets: packages on one NUMA node are as near as that node") {
  machine_description described;
  described.source = synthetic_source{"pack:2 l3:1 core:4 pu:1"}; // hwloc gives such a machine one node
  situation s(discover(described));
  s.load(0, 3, 4); // 5 against 1 + same_node 4
  CHECK(s.place(s.on_cpu(0)).worker.value == 0);
  s.load(0, 3, 5);
  CHECK(s.place(s.on_cpu(0)).worker.value == 4);
  CHECK(s.place(s.on_cpu(0)).level == level::same_node);
}

TEST_CASE("two sockets: cross_package sets the load at which a task crosses") {
  for (const double spill : {15.0, 16.0, 17.0}) {
    dispatch_weights weights;
    weights.spill.cross_package = spill;
    situation s(two_sockets(), weights);
    s.load(0, 7, 16);
    s.load(8, 15, 1000);
    CAPTURE(spill);
    CHECK(chosen_from_socket(s, 0) == (spill < 16 ? second_p : first_p));
  }
}

TEST_CASE("two sockets: long tasks cross more easily") {
  situation s(two_sockets());
  s.load(0, 7, 5);
  s.load(8, 15, 1000);
  s.task_time_ns = 50'000;
  CHECK(chosen_from_socket(s, 0) == first_p);
  s.task_time_ns = 160'000; // 16 × 50 / 160 = 5: across 1 + 5, at home 6
  CHECK(chosen_from_socket(s, 0) == first_p);
  s.task_time_ns = 160'001;
  CHECK(chosen_from_socket(s, 0) == second_p);
  s.task_time_ns = 1; // short ones not less than 16
  CHECK(s.place(s.on_cpu(0)).cost == 6);
}

TEST_CASE("two sockets: a fast core across is taken before a slow one across") {
  situation s(two_sockets());
  s.load(0, 15, 100);
  s.load(16, 23, 1); // across: P 2 + 16, E 2 + 16, and the higher capacity wins
  CHECK(chosen_from_socket(s, 0) == second_p);
  s.load(16, 23, 2); // P 3 + 16, E 2 + 16
  CHECK(chosen_from_socket(s, 0) == second_e);
}

TEST_CASE("two sockets: a worker keeps its tasks until a neighbour is cheaper by same_domain") {
  situation s(two_sockets());
  s.load(0, 0, 1); // itself 2, an idle neighbour 1 + 2
  CHECK(s.place(s.on_worker(0)).worker.value == 0);
  CHECK(s.place(s.on_worker(0)).reason == placement_reason::own_queue);
  s.load(3, 3, 2);
  CHECK(s.place(s.on_worker(3)).worker.value == 1); // itself 3, the idle one 3: the lower number
  s.load(0, 0, 2);
  CHECK(s.place(s.on_worker(0)).worker.value == 0);
  s.load(0, 0, 3);
  CHECK(s.place(s.on_worker(0)).worker.value == 1);
  CHECK(s.place(s.on_worker(0)).cost == 3);
  CHECK(s.place(s.on_worker(0)).level == level::same_group);
}

TEST_CASE("two sockets: a worker on a slow core offers its tasks to the fast ones of its domain") {
  situation s(two_sockets());
  s.load(8, 8, 1); // itself 4, an idle P 1 + 2
  const placement p = s.place(s.on_worker(8));
  CHECK(p.worker.value == first_p);
  CHECK(p.level == level::same_domain);
  CHECK(p.reason == placement_reason::idle_nearby);
}

TEST_CASE("two sockets: scores that do not tell idle kinds apart prefer the own group") {
  dispatch_weights weights;
  weights.score = score_kind::count;
  situation s(two_sockets(), weights);
  s.load(8, 8, 3);
  CHECK(s.place(s.on_worker(8)).worker.value == 9);
  CHECK(s.place(s.on_cpu(8)).worker.value == first_p);
}

TEST_CASE("two sockets: a hundred tasks on a fast core weigh less than fifty on one half as fast") {
  machine_description described;
  described.source = synthetic_source{"pack:1 l3:1 core:2 pu:1"};
  described.kinds = {{cpu_set::range(0, 0), "P", 1024}, {cpu_set::range(1, 1), "E", 500}};
  situation s(discover(described), {score_kind::expected_delay, {0, 0, 0, 0}});
  s.load(0, 0, 100); // 101
  s.load(1, 1, 50);  // 51 × 2.048 = 104.4
  CHECK(s.place(s.on_cpu(0)).worker.value == 0);
  CHECK(s.place(s.on_cpu(1)).worker.value == 0);
  s.load(1, 1, 48); // 49 × 2.048 = 100.4
  CHECK(s.place(s.on_cpu(0)).worker.value == 1);
}
