#include "counts.hpp"
#include "park_timeout.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/yield.hpp>
#include <corewise/policies/policy.hpp>
#include <corewise/policies/steal_policy.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <thread>
#include <utility>

// The soundness test: tasks that yield for ever wait for another task, and must not keep it from running.
// Source: a deadlock of Cats Effect 3, whose overflow went to a queue that a worker read only when its own
// was empty.

using namespace corewise;
using namespace corewise::tests;

namespace {

int from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

/// How long a run may go on while no task begins or ends; less where an engine is to hang (tests/faults/).
const std::chrono::seconds patience{from_environment("COREWISE_PATIENCE", 60)};
constexpr int repeats_of_few = tests::count_of(10, 1000), repeats_of_many = tests::count_of(1, 20);
constexpr std::uint32_t many_workers = 64;

/// Returns a fifth of the repeats where everything runs once more without time-outs.
int fewer(int repeats) { return never_times_out() ? std::max(1, repeats / 5) : repeats; }

/// One run of the workload. Its tasks share it, so that it still exists for a task that hangs.
struct workload {
  engine& on;
  placement_rng rng;
  std::atomic<bool> flag{false};
  std::atomic<std::uint32_t> left{0};
  std::atomic<std::uint32_t> wrong{0};
  std::atomic<std::uint32_t> progress{0}; // tasks that were submitted and that have ended
  std::pair<oneshot_sender<bool>, oneshot_receiver<bool>> all_done = make_oneshot<bool>();
  std::promise<void> ended;

  workload(engine& e, std::uint64_t seed) : on(e), rng(seed) {}

  template <class Task> void begin(Task&& t) {
    if (on.submit(std::forward<Task>(t)) != submit_result::accepted) wrong.fetch_add(1);
    progress.fetch_add(1, std::memory_order_relaxed);
  }
  void one_done() {
    progress.fetch_add(1, std::memory_order_relaxed);
    if (left.fetch_sub(1) == 1) all_done.first.send(true);
  }
  /// Takes a moment, as trivial tasks do; another moment each time.
  static void pass_time(std::uint32_t rounds) {
    for (std::atomic<std::uint32_t> i{0}; i < rounds;) i.fetch_add(1, std::memory_order_relaxed);
  }
};

task<> spin(std::shared_ptr<workload> w) {
  while (!w->flag.load(std::memory_order_relaxed)) co_await yield();
  w->one_done();
}

void begin_trivial(const std::shared_ptr<workload>& w, int count) {
  for (int i = 0; i < count; ++i) {
    const auto body = [w, rounds = w->rng.below(64)] {
      workload::pass_time(rounds);
      w->one_done();
    };
    w->begin(body);
  }
}

task<> begin_all(std::shared_ptr<workload> w, std::uint32_t workers) {
  constexpr int before = 200;
  constexpr int after = 1000;
  w->left.store(workers - 1 + before + 1 + after);
  for (std::uint32_t i = 1; i < workers; ++i) w->begin(spin(w));
  begin_trivial(w, before);
  w->begin([w] {
    w->flag.store(true, std::memory_order_relaxed);
    w->one_done();
  });
  begin_trivial(w, after);
  while (!w->flag.load(std::memory_order_relaxed)) co_await yield();
  co_await w->all_done.second.receive();
  w->ended.set_value();
}

struct setting {
  std::string_view place;
  std::string_view steal;
  std::uint32_t workers;
};

profile profile_of(const setting& s) {
  profile p;
  p.topology.groups.group_by = domain_kind::machine; // one domain, however many caches the machine has
  p.workers.total = s.workers;
  p.workers.pin = pin_to::none;
  p.dispatch.policy = s.place;
  p.steal.policy = s.steal;
  return with_park_timeout(std::move(p));
}

/// Returns whether the run ends, however slowly.
bool ends(const workload& w, const std::future<void>& ended) {
  for (std::uint32_t before = w.progress;;) {
    if (ended.wait_for(patience) == std::future_status::ready) return true;
    const std::uint32_t now = w.progress;
    if (now == before) return false;
    before = now;
  }
}

void must_end(engine& e, const setting& s, std::uint64_t seed) {
  const auto w = std::make_shared<workload>(e, seed);
  const std::future<void> ended = w->ended.get_future();
  REQUIRE(e.submit(begin_all(w, s.workers)) == submit_result::accepted);
  if (!ends(*w, ended)) {
    std::printf("FAILED: hangs with policy %s, steal policy %s, %u workers, seed %llu\n%s\n",
                std::string(s.place).c_str(), std::string(s.steal).c_str(), s.workers,
                static_cast<unsigned long long>(seed), e.metrics().to_text().c_str());
    std::fflush(stdout);
    std::_Exit(1); // the engine cannot be ended
  }
  e.drain();
  CHECK(w->wrong == 0);
  CHECK(w->left == 0);
}

/// Waits until the queues are at rest, which they are a moment after `drain`: a worker may still be leaving a
/// task that was suspended there and has ended elsewhere.
bool comes_to_rest(const engine& e) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (e.metrics().waiting() != 0) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

void must_end_under_every_policy(std::uint32_t workers, int repeats) {
  std::uint64_t seed = 0;
  for (const std::string_view place : policy_names())
    for (const std::string_view steal : steal_policy_names()) {
      const setting s{place, steal, workers};
      CAPTURE(place);
      CAPTURE(steal);
      engine e(profile_of(s));
      for (int i = 0; i < fewer(repeats); ++i) must_end(e, s, ++seed);
      CHECK(e.metrics().in_flight() == 0);
      CHECK(comes_to_rest(e));
      CHECK(e.metrics().total().rescued_by_timeout == 0);
    }
}

} // namespace

TEST_CASE("soundness: it ends under every policy, 1 worker") {
  must_end_under_every_policy(1, repeats_of_few);
}
TEST_CASE("soundness: it ends under every policy, 2 workers") {
  must_end_under_every_policy(2, repeats_of_few);
}
TEST_CASE("soundness: it ends under every policy, 3 workers") {
  must_end_under_every_policy(3, repeats_of_few);
}
TEST_CASE("soundness: it ends under every policy, 8 workers") {
  must_end_under_every_policy(8, repeats_of_few);
}
TEST_CASE("soundness: it ends under every policy, 64 workers") {
  must_end_under_every_policy(many_workers, repeats_of_many);
}

TEST_CASE("soundness: it ends with the profile of every learned-from system") {
  std::uint64_t seed = 0;
  for (const std::string_view name :
       {"zio", "zio-least-loaded", "nio", "volt", "tokio", "activity", "global-queue", "local-only"})
    for (const std::uint32_t workers : {1U, 2U, 3U, 8U}) {
      CAPTURE(name);
      CAPTURE(workers);
      profile p = load_profile(std::string(COREWISE_SOURCE_DIR "/configs/") + name.data() + ".yaml");
      p.topology.groups.group_by = domain_kind::machine; // one domain, however many caches the machine has
      p.workers.total = workers;
      engine e(with_park_timeout(p));
      for (int i = 0; i < fewer(repeats_of_few); ++i)
        must_end(e, {p.dispatch.policy, p.steal.policy, workers}, ++seed);
      CHECK(e.metrics().in_flight() == 0);
      CHECK(comes_to_rest(e));
      CHECK(e.metrics().total().rescued_by_timeout == 0);
    }
}
