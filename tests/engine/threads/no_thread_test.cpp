// The system gives no thread for one of those that an engine asks for, each in turn.

#include "refused_thread.hpp"
#include "threads/used.hpp"

#include <corewise/engine/engine_set.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;
using tests::threads_before_refusal;

namespace {

auto thread_count() { return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}); }

} // namespace

TEST_CASE("no thread: an engine does not begin without one for each worker, and begins without any other") {
  constexpr int workers = 4;
  profile p = small_profile(workers);
  const auto before = thread_count();
  for (int n = 1; n <= workers + 4; ++n) {
    CAPTURE(n);
    threads_before_refusal = n;
    int result = 0;
    try {
      result = tests::used(p, n == workers + 1 ? "stuck workers are not reported" : "");
    } catch (const std::system_error& e) {
      result = e.code().value() == EAGAIN ? -1 : -2;
    }
    threads_before_refusal = 0;
    CHECK(result == (n > workers ? 0 : -1));
    while (thread_count() != before)
      std::this_thread::sleep_for(1ms); // those that are joined may still be listed
  }
}

TEST_CASE("no thread: a set whose engines get none to end on ends them one after another") {
  profile p;
  p.topology.machine.source = synthetic_source{"pack:3 core:1 pu:1"};
  p.engines.per = machine_part::package;
  for (int n = 1; n <= 2; ++n) {
    CAPTURE(n);
    engine_set engines(p);
    std::atomic<int> ran{0};
    for (engine& e : engines) {
      REQUIRE(e.submit([&] { ++ran; }) == submit_result::accepted);
      e.drain();
    }
    threads_before_refusal = n;
    const std::vector<shutdown_report> reports = engines.shutdown(10s);
    CHECK(threads_before_refusal == 0); // one was refused
    REQUIRE(reports.size() == 3);
    for (const shutdown_report& r : reports) CHECK(r.clean());
    for (const engine& e : engines) CHECK(e.health().state == health_state::ended);
    CHECK(ran == 3);
  }
}
