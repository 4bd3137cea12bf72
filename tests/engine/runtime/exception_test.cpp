#include "child_process.hpp"
#include "small_engine.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdlib>
#include <string>

using namespace corewise;

TEST_CASE("exceptions: `report` counts a task's exception and calls the hook, and the worker goes on") {
  std::atomic<int> seen{0};
  std::atomic<int> lines{0};
  engine_hooks hooks;
  hooks.on_exception = [&](std::exception_ptr error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::runtime_error& e) {
      if (std::string(e.what()) == "broken") seen.fetch_add(1);
    }
  };
  hooks.log = [&](std::string_view line) {
    if (line.find("broken") != std::string_view::npos) lines.fetch_add(1);
  };
  profile p = small_profile(2);
  p.on_exception = exception_action::report;
  engine e(p, hooks);
  for (int i = 0; i < 10; ++i)
    CHECK(e.submit([] { throw std::runtime_error("broken"); }) == submit_result::accepted);
  std::atomic<bool> ran{false};
  CHECK(e.submit([&] { ran = true; }) == submit_result::accepted);
  e.drain();
  CHECK(ran);
  CHECK(seen == 10);
  CHECK(lines == 10);
  CHECK(e.metrics().failed == 10);
  CHECK(e.metrics().finished == 11);
}

TEST_CASE("exceptions: `terminate`, the default, ends the process") {
  const pid_t child = tests::child_that([] {
    std::signal(SIGABRT, SIG_DFL);
    std::set_terminate([] { std::_Exit(42); });
    engine e(small_profile(1));
    static_cast<void>(e.submit([] { throw 1; }));
    e.drain();
    std::_Exit(0);
  });
  CHECK(tests::exit_status(child) == 42);
}
