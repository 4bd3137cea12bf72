#include "memory/near_nodes.hpp"
#include "memory/page_nodes.hpp"
#include "small_engine.hpp"

#include <corewise/topology/discovery.hpp>

#include <doctest/doctest.h>

#include <filesystem>

using namespace corewise;
using namespace corewise::detail;

namespace {

int questions = 0;
std::optional<std::uint32_t> node_by_page(const void* address) {
  ++questions;
  const auto page = reinterpret_cast<std::uintptr_t>(address) / 4096;
  if (page == 7) return std::nullopt;
  return static_cast<std::uint32_t>(page);
}

const void* at(std::uintptr_t page, std::uintptr_t offset = 0) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): never followed
  return reinterpret_cast<const void*>(page * 4096 + offset);
}

std::vector<bool> nodes_with_workers(const topology& machine, const locality_groups& groups,
                                     const worker_layout& layout) {
  std::vector<bool> with(machine.nodes().size());
  for (const worker_place& w : layout.workers())
    if (const auto node = groups[w.group].node) with[*node] = true;
  return with;
}

void check_nodes(const topology& machine, const worker_options& options) {
  const locality_groups groups(machine, {});
  const worker_layout layout(machine, groups, options);
  const near_nodes near_by(machine, groups, layout);
  const std::vector<bool> with = nodes_with_workers(machine, groups, layout);
  const bool any = std::ranges::find(with, true) != with.end();
  for (std::uint32_t n = 0; n < machine.nodes().size(); ++n) {
    const auto chosen = near_by.standing_for(machine.nodes()[n].os_index);
    CHECK(chosen.has_value() == any);
    if (!chosen) continue;
    CHECK(with[*chosen]);
    if (with[n]) CHECK(*chosen == n);
    for (std::uint32_t other = 0; other < with.size(); ++other)
      if (with[other] && !with[n]) CHECK(machine.distance(n, *chosen) <= machine.distance(n, other));
  }
  CHECK_FALSE(near_by.standing_for(1'000'000));
}

} // namespace

TEST_CASE("near: on every machine a node stands for itself, or for the nearest one with workers") {
  int machines = 0;
  for (const auto& file : std::filesystem::directory_iterator(COREWISE_SOURCE_DIR "/tests/machines")) {
    if (file.path().extension() != ".xml") continue;
    CAPTURE(file.path().string());
    machine_description description;
    description.source = xml_source{file.path()};
    const topology machine = discover(description);
    check_nodes(machine, {});
    worker_options one;
    one.total = 1;
    check_nodes(machine, one);
    ++machines;
  }
  CHECK(machines >= 38);
}

TEST_CASE("near: the engine asks the kernel once about a page, until the answer is old") {
  page_nodes pages(&node_by_page);
  const monotonic::time_point begin{};
  questions = 0;
  CHECK(pages.node_of(at(3), begin) == 3);
  CHECK(pages.node_of(at(3, 4095), begin + page_nodes::age_most) == 3);
  CHECK(questions == 1);
  CHECK(pages.node_of(at(4), begin) == 4);
  CHECK(questions == 2);
  CHECK(pages.node_of(at(3), begin + page_nodes::age_most + std::chrono::nanoseconds{1}) == 3);
  CHECK(questions == 3);
  // An unknown node is remembered as well; pages that share an entry do not mix.
  CHECK_FALSE(pages.node_of(at(7), begin));
  CHECK_FALSE(pages.node_of(at(7), begin));
  CHECK(questions == 4);
  CHECK(pages.node_of(at(3 + 64), begin) == 67);
  CHECK(pages.node_of(at(3), begin) == 3);
  CHECK(questions == 6);
}

TEST_CASE("near: an unknown address is no error, and hints combine") {
  engine e(small_profile(2));
  std::atomic<int> ran{0};
  const auto run = [&] { ran.fetch_add(1); };
  CHECK(e.submit(run, near(&ran)) == submit_result::accepted);
  CHECK(e.submit(run, near(nullptr)) == submit_result::accepted);
  CHECK(e.submit(run, near(at(1))) == submit_result::accepted);
  CHECK(e.submit(run, near(&ran, {.kind = 0, .run_as = task_class::latency})) == submit_result::accepted);
  CHECK(e.submit(run, hint{.worker = worker_id{1}, .address = &ran}) == submit_result::accepted);
  e.drain();
  CHECK(ran == 5);
  CHECK(e.metrics().latency_placed == 1);
}

TEST_CASE("near: on a described machine the hint has no effect, and the engine warns once") {
  engine e(two_package_profile(1));
  const std::size_t before = e.warnings().size();
  std::atomic<int> ran{0};
  for (int i = 0; i < 3; ++i)
    CHECK(e.submit([&] { ran.fetch_add(1); }, near(&ran)) == submit_result::accepted);
  e.drain();
  CHECK(ran == 3);
  REQUIRE(e.warnings().size() == before + 1);
  CHECK(e.warnings().back().find("near an address") != std::string::npos);
}
