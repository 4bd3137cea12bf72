#include "child_process.hpp"
#include "counts.hpp"
#include "small_engine.hpp"

#include <corewise/engine/detail/task_blocks.hpp>

#include <doctest/doctest.h>
#include <unistd.h>

#include <thread>
#include <vector>

using namespace corewise;

namespace {

/// Runs in the child of a process fork, and ends it. The exit status is 0 if every call answers `stopping` or
/// does nothing, and an engine of its own works.
[[noreturn]] void be_a_child(std::unique_ptr<engine> parents) {
  ::alarm(60); // ends the child if a lock is held for ever
  bool right = parents->submit([] { std::_Exit(3); }) == submit_result::stopping;
  right = right && parents->try_submit([] { std::_Exit(3); }) == submit_result::stopping;
  parents->drain();
  right = right && parents->shutdown(std::chrono::seconds{1}).clean();
  parents.reset();

  constexpr int count = 500;
  std::atomic<int> runs{0};
  {
    engine own(small_profile(1));
    for (int i = 0; i < count; ++i) static_cast<void>(own.submit([&] { runs.fetch_add(1); }));
    own.drain();
  }
  std::_Exit(right && runs == count ? 0 : 1);
}

} // namespace

TEST_CASE("fork: in the child every call returns `stopping` or does nothing, and the parent goes on") {
  auto e = std::make_unique<engine>(small_profile(2));
  CHECK(e->submit([] {}) == submit_result::accepted);
  e->drain();
  CHECK(tests::exit_status(tests::child_that([&] { be_a_child(std::move(e)); })) == 0);
  std::atomic<bool> ran{false};
  CHECK(e->submit([&] { ran = true; }) == submit_result::accepted);
  e->drain();
  CHECK(ran);
}

TEST_CASE("fork: a child may make an engine of its own") {
  engine parent(small_profile(1));
  const pid_t child = tests::child_that([] {
    std::atomic<int> runs{0};
    {
      engine own(small_profile(2));
      for (int i = 0; i < 100; ++i) static_cast<void>(own.submit([&] { runs.fetch_add(1); }));
      own.drain();
    }
    std::_Exit(runs == 100 ? 0 : 1);
  });
  CHECK(tests::exit_status(child) == 0);
}

TEST_CASE(
    "fork: under load the child also gets answers and makes its own engine, and the parent loses no task") {
  constexpr int forks = tests::count_of(12, 30);
  auto e = std::make_unique<engine>(small_profile(3));
  std::atomic<bool> enough{false};
  std::atomic<std::uint64_t> submitted{0};
  std::atomic<std::uint64_t> runs{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      while (!enough.load()) {
        for (int i = 0; i < 100; ++i)
          if (e->submit([&] { runs.fetch_add(1); }) == submit_result::accepted) submitted.fetch_add(1);
        e->drain();
      }
    });
  for (int i = 0; i < forks; ++i) {
    CHECK(tests::exit_status(tests::child_that([&] { be_a_child(std::move(e)); })) == 0);
  }
  enough.store(true);
  for (std::thread& t : threads) t.join();
  e->drain();
  CHECK(runs == submitted);
  CHECK(e->metrics().total().rescued_by_timeout == 0);
}

TEST_CASE("fork: a child gets blocks for its tasks, although other threads were using theirs at the fork") {
  constexpr int forks = tests::count_of(60, 200);
  constexpr std::size_t blocks = 300; // more than a thread keeps for itself
  const auto take_and_give = [] {
    std::vector<void*> all;
    for (std::size_t i = 0; i < blocks; ++i) all.push_back(detail::acquire_block(0));
    for (void* b : all) detail::release_block(b, 0);
  };
  std::atomic<bool> enough{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!enough.load()) take_and_give();
    });
  int failures = 0;
  for (int i = 0; i < forks && failures == 0; ++i) {
    const pid_t child = tests::child_that([&] {
      ::alarm(20);
      take_and_give();
      std::_Exit(0);
    });
    failures += tests::exit_status(child) != 0;
  }
  CHECK(failures == 0);
  enough.store(true);
  for (std::thread& t : threads) t.join();
}
