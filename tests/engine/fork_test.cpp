#include "small_engine.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace corewise;

TEST_CASE("fork: in the child every call answers `stopping` or does nothing, and the parent goes on") {
  auto e = std::make_unique<engine>(small_profile(2));
  CHECK(e->submit([] {}) == submit_result::accepted);
  e->drain();
  const pid_t child = ::fork();
  if (child == 0) {
    bool right = e->submit([] { std::_Exit(3); }) == submit_result::stopping;
    right = right && e->try_submit([] { std::_Exit(3); }) == submit_result::stopping;
    e->drain();
    right = right && e->shutdown(std::chrono::seconds{1}).clean();
    e.reset();
    std::_Exit(right ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  std::atomic<bool> ran{false};
  CHECK(e->submit([&] { ran = true; }) == submit_result::accepted);
  e->drain();
  CHECK(ran);
}

TEST_CASE("fork: a child may make an engine of its own") {
  engine parent(small_profile(1));
  const pid_t child = ::fork();
  if (child == 0) {
    std::atomic<int> runs{0};
    {
      engine own(small_profile(2));
      for (int i = 0; i < 100; ++i) static_cast<void>(own.submit([&] { runs.fetch_add(1); }));
      own.drain();
    }
    std::_Exit(runs == 100 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
}
