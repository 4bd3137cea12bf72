#include "child_process.hpp"
#include "small_engine.hpp"
#include "within.hpp"

#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <thread>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// Keeps the lines of an engine's log.
class log_book {
 public:
  void write(std::string_view line) {
    const std::scoped_lock lock(mutex_);
    lines_.emplace_back(line);
    count_.store(static_cast<int>(lines_.size()));
    count_.notify_all();
  }
  void wait_for(int lines) {
    for (int now = count_.load(); now < lines; now = count_.load()) count_.wait(now);
  }
  std::vector<std::string> lines() {
    const std::scoped_lock lock(mutex_);
    return lines_;
  }
  engine_hooks hooks() {
    engine_hooks h;
    h.log = [this](std::string_view line) { write(line); };
    return h;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::atomic<int> count_{0};
};

struct counts_primes {
  log_book* until;
  int lines;
  void operator()() const { until->wait_for(lines); }
};

profile watched(std::uint32_t workers, std::chrono::nanoseconds stuck_after) {
  profile p = small_profile(workers);
  p.blocking.stuck_after = stuck_after;
  return p;
}

std::optional<std::filesystem::path> supervisor_of_this_process() {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream(thread.path() / "comm") >> name;
    if (name == "corewise/watch") return thread.path();
  }
  return std::nullopt;
}

/// Returns how often a thread has gone to sleep.
long sleeps(const std::filesystem::path& thread) {
  std::ifstream status(thread / "status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("voluntary_ctxt_switches:")) return std::stol(line.substr(line.find(':') + 1));
  return -1;
}

long sleeps_of_process() {
  long sum = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
    sum += sleeps(thread.path());
  return sum;
}

} // namespace

TEST_CASE("stuck: a hook that hears of it cannot shut the engine down, which would wait for the hook") {
  std::atomic<engine*> self{nullptr};
  std::atomic<int> refused{0};
  engine_hooks hooks;
  hooks.on_log_record = [&](const log_record& r) {
    if (r.code != log_code::stuck_worker) return;
    CHECK_THROWS_AS(static_cast<void>(self.load()->shutdown(0ms)), std::logic_error);
    ++refused;
  };
  engine e(watched(2, 5ms), hooks);
  self = &e;
  REQUIRE(e.submit([&] {
    while (refused == 0) std::this_thread::sleep_for(1ms);
  }) == submit_result::accepted);
  e.drain();
  CHECK(refused == 1);
}

TEST_CASE("stuck: a task that does not end is reported once, with its worker, its kind and its age") {
  log_book log;
  engine e(watched(2, 5ms), log.hooks());
  REQUIRE(e.submit(counts_primes{&log, 2}) == submit_result::accepted);
  log.wait_for(1); // it stands until there is another line
  CHECK(within(10s, [&] { return e.metrics().total().stuck_for >= 50ms; })); // some ten looks more
  const engine_dump standing = e.dump();
  CHECK(std::ranges::count(standing.seats, true, &seat_dump::stuck) == 1);
  CHECK(standing.to_text().find(" us, stuck\n") != std::string::npos);
  log.write("go on");
  e.drain();
  CHECK(std::ranges::count(e.dump().seats, true, &seat_dump::stuck) == 0);
  REQUIRE(e.submit(counts_primes{&log, 3}) == submit_result::accepted); // another task makes another report
  e.drain();
  std::vector<std::string> lines = log.lines();
  std::erase(lines, "go on");
  REQUIRE(lines.size() == 2);
  const metrics_snapshot m = e.metrics();
  CHECK(m.total().stuck == 2);
  for (const std::string& line : lines) {
    CAPTURE(line);
    CHECK(line.find("is stuck") != std::string::npos);
    CHECK(line.find("counts_primes") != std::string::npos);
    CHECK(line.find(" ms or more") != std::string::npos);
    CHECK(line.find("its stack") == std::string::npos); // the profile did not ask for the stack
  }
  std::array<std::uint64_t, 2> named{};
  for (const std::string& line : lines)
    for (std::size_t w = 0; w < 2; ++w)
      if (line.starts_with("worker " + std::to_string(w) + " of ")) ++named[w];
  for (std::size_t w = 0; w < 2; ++w) CHECK(named[w] == m.workers[w].stuck);
  CHECK(e.warnings() == lines);
}

TEST_CASE(
    "stuck: a worker in a blocking call is not reported, and one whose tasks end or yield is not either") {
  log_book log;
  profile p = watched(3, 300ms);
  p.blocking.spares_max = 0;
  p.steal.policy = "none";
  engine e(p, log.hooks());
  gate held;
  std::atomic<bool> stop{false};
  const auto spin = [](std::atomic<bool>& until) -> task<> {
    while (!until) co_await yield();
  };
  REQUIRE(e.submit([&] { blocking([&] { held.pass(); }); }, {.worker = worker_id{0}}) ==
          submit_result::accepted);
  held.wait_for(1);
  REQUIRE(e.submit(spin(stop), {.worker = worker_id{1}}) == submit_result::accepted);
  REQUIRE(e.submit(counts_primes{&log, 1}, {.worker = worker_id{2}}) == submit_result::accepted);
  log.wait_for(1);
  stop = true;
  held.open();
  e.drain();
  const metrics_snapshot m = e.metrics();
  CHECK(m.workers[0].stuck == 0);
  CHECK(m.workers[1].stuck == 0);
  CHECK(m.workers[2].stuck == 1);
}

TEST_CASE("stuck: a new profile makes a running engine look for tasks that run already") {
  log_book log;
  profile p = small_profile(2);
  p.blocking.stuck_after.reset();
  engine e(p, log.hooks());
  for (int reports = 1; reports <= 3; ++reports) {
    REQUIRE(e.submit(counts_primes{&log, reports}) == submit_result::accepted);
    while (e.metrics().total().load != 1) std::this_thread::yield();
    for (const optional_duration& after : {optional_duration{5ms}, optional_duration{}}) {
      p.blocking.stuck_after = after;
      CHECK(e.apply(p).applied());
      log.wait_for(reports);
    }
    e.drain();
  }
  CHECK(e.metrics().total().stuck == 3);
}

TEST_CASE("stuck: the number of kept reports is bounded, and all are counted and logged") {
  log_book log;
  engine e(watched(1, 1ms), log.hooks());
  for (int i = 1; i <= 40; ++i) {
    REQUIRE(e.submit(counts_primes{&log, i}) == submit_result::accepted);
    e.drain();
  }
  CHECK(log.lines().size() == 40);
  CHECK(e.metrics().total().stuck == 40);
  CHECK(e.warnings().size() == 32);
}

TEST_CASE("stuck: there is no supervisor before the first task, and none if the profile needs none") {
  engine idle(watched(1, 100ms));
  CHECK_FALSE(supervisor_of_this_process());
  profile p = small_profile(1);
  p.blocking.stuck_after.reset();
  p.idle.park_timeout.kind = park_timeout_setting::mode::never;
  p.topology.follow.kind = follow_setting::mode::off;
  engine unwatched(p);
  REQUIRE(unwatched.submit([] {}) == submit_result::accepted);
  unwatched.drain();
  CHECK_FALSE(supervisor_of_this_process());
  REQUIRE(unwatched.submit([] { blocking([] {}); }) == submit_result::accepted);
  unwatched.drain();
  while (!supervisor_of_this_process()) std::this_thread::yield(); // the supervisor has yet to name itself
}

TEST_CASE(
    "stuck: without tasks the supervisor sleeps without waking up, and it wakes for the next stuck task") {
  log_book log;
  profile p = watched(2, 5ms);
  p.idle.park_timeout.kind = park_timeout_setting::mode::never; // else it wakes up once a second
  engine e(p, log.hooks());
  REQUIRE(e.submit(counts_primes{&log, 1}) == submit_result::accepted);
  e.drain();
  const auto thread = supervisor_of_this_process();
  REQUIRE(thread);
  // The supervisor looks around for a second, in the end every 20 ms. So half a second without a look means
  // that it sleeps for good.
  bool sleeps_on = false;
  for (int i = 0; i < 240 && !sleeps_on; ++i) {
    const long before = sleeps(*thread);
    REQUIRE(before > 0);
    std::this_thread::sleep_for(500ms);
    sleeps_on = sleeps(*thread) == before;
  }
  CHECK(sleeps_on);
  REQUIRE(e.submit(counts_primes{&log, 2}) == submit_result::accepted);
  e.drain();
  CHECK(e.metrics().total().stuck == 2);
}

TEST_CASE("stuck: while one task runs and the other workers sleep, the process wakes up less than 100 times "
          "a second") {
  profile p; // the default one: it looks for tasks that do not end, or that age in slots
  p.workers.total = 2;
  engine e(p);
  std::atomic<bool> ends{false};
  REQUIRE(e.submit([&] { ends.wait(false); }) == submit_result::accepted);
  const auto parked = [](const seat_dump& s) { return s.state == seat_state::parked; };
  while (std::ranges::count_if(e.dump().seats, parked) != 1 || !supervisor_of_this_process())
    std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(200ms); // the slots have been empty for a while
  const auto begin = std::chrono::steady_clock::now();
  const long before = sleeps_of_process();
  std::this_thread::sleep_for(1s);
  const auto woken = static_cast<double>(sleeps_of_process() - before);
  CHECK(woken < 100 * std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  ends = true;
  ends.notify_all();
  e.drain();
}

TEST_CASE(
    "stuck: after the whole process was stopped under load no worker is reported, and no task is lost") {
  const pid_t child = tests::child_that([] {
    engine e(watched(2, 400ms));
    constexpr int tasks = 400;
    std::atomic<int> ended{0};
    for (int i = 0; i < tasks; ++i)
      static_cast<void>(e.submit([&ended, i] {
        if (i % 4 == 0) blocking([] { std::this_thread::sleep_for(1ms); });
        const auto until = std::chrono::steady_clock::now() + 5ms;
        while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
        ended.fetch_add(1);
      }));
    e.drain();
    const std::uint64_t stuck = e.metrics().total().stuck;
    std::_Exit(ended != tasks ? 100 : static_cast<int>(std::min<std::uint64_t>(stuck, 99)));
  });
  for (int stop = 0; stop < 2; ++stop) {
    std::this_thread::sleep_for(100ms);
    tests::stop_for(child, 1s); // longer than a task needs to be stuck
  }
  CHECK(tests::exit_status(child) <= 1); // the reports; each stop would make one for each worker
}
