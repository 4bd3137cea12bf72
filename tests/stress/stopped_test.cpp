#include "child_process.hpp"
#include "park_timeout.hpp"

#include <corewise/engine/engine.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// One process is stopped and continued in the midst of its work; another destroys its engine in the midst of
// it.

using namespace corewise;
using namespace std::chrono_literals;
using tests::signal_pipe;

namespace {

profile loaded_profile() {
  profile p;
  p.topology.groups.group_by = domain_kind::machine; // one domain, however many caches the machine has
  p.workers.total = 8;
  p.workers.pin = pin_to::none;
  return tests::with_park_timeout(std::move(p));
}

/// Submits tasks until it is told that it is enough, and drains. The exit status says what was wrong.
[[noreturn]] void be_busy(const signal_pipe& under_way, const signal_pipe& enough) {
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> submitted{0};
  std::atomic<std::uint64_t> runs{0};
  engine e(loaded_profile());
  const auto count = [&](submit_result answer) { submitted.fetch_add(answer == submit_result::accepted); };
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!done.load()) {
        for (int i = 0; i < 200; ++i)
          count(e.submit([&] {
            runs.fetch_add(1);
            count(e.submit([&] { runs.fetch_add(1); }));
          }));
        std::this_thread::sleep_for(20us); // so that workers go to sleep as well
        if (submitted.load() - runs.load() > 10'000) e.drain();
      }
    });
  while (runs.load() < 10'000) std::this_thread::yield();
  under_way.tell();
  enough.wait();
  done.store(true);
  for (std::thread& t : threads) t.join();
  e.drain();

  const metrics_snapshot m = e.metrics();
  const bool exact = runs == submitted && m.in_flight() == 0 && m.total().executed == submitted;
  const bool rescued = m.total().rescued_by_timeout != 0;
  if (!exact || rescued) std::printf("%s\n", m.to_text().c_str());
  std::fflush(stdout);
  if (!e.shutdown(60s).clean()) std::_Exit(3);
  std::_Exit(!exact ? 1 : rescued ? 2 : 0);
}

} // namespace

TEST_CASE(
    "stopped and continued under load: every task runs exactly once, and no time-out counts a lost wake-up") {
  const signal_pipe under_way;
  const signal_pipe enough;
  const pid_t child = tests::child_that([&] { be_busy(under_way, enough); });
  under_way.wait();
  for (const auto pause : {1ms, 700ms, 50ms, 1200ms}) { // some exceed the time to the second look
    tests::stop_for(child, pause);
    std::this_thread::sleep_for(20ms); // the child works on for a while
  }
  enough.tell();
  CHECK(tests::exit_status(child) == 0);
}

TEST_CASE("destroyed under load: each accepted task runs exactly once, with all tasks that it submits") {
  constexpr std::uint64_t tasks = 100'000;
  std::atomic<std::uint64_t> runs{0};
  std::atomic<std::uint64_t> accepted{0};
  std::vector<std::string> said;
  engine_hooks hooks;
  hooks.log = [&](std::string_view text) { said.emplace_back(text); };
  {
    engine e(loaded_profile(), hooks);
    for (std::uint64_t n = 0; n < tasks; ++n)
      accepted += e.submit([&] {
        runs.fetch_add(1);
        accepted += e.submit([&] { runs.fetch_add(1); }) == submit_result::accepted;
      }) == submit_result::accepted;
  }
  CHECK(accepted == 2 * tasks);
  CHECK(runs == accepted);
  for (const std::string& text : said) CHECK(text.find("destroyed with work left") == std::string::npos);
}
