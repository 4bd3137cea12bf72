// Random sequences of all that tasks and outside threads may do, on engines with random profiles and many
// more workers than cores. Every task runs exactly once and is destroyed exactly once; tasks that a shutdown
// drops are destroyed unrun.
//
//     random_sequences [--seed N] [--operations N] [--park-timeout any|never] [--rounds N]
//
// A round is an engine. Its seed decides what it is; the program prints the seed when the round fails:
// `--seed N --rounds 1` is the same round again, as far as threads let it be.

#include "random_actions.hpp"
#include "random_profile.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace corewise::tests {

using namespace std::chrono_literals;

namespace {

struct amounts {
  std::uint64_t seed = 0;
  std::uint64_t operations = 5'000'000;
  std::uint64_t rounds = std::numeric_limits<std::uint64_t>::max();
  bool never_times_out = false;
};

constexpr auto patience = 60s;

[[noreturn]] void fail(const round& r, const profile& p, const std::string& what) {
  std::printf("FAILED %s\n  --seed %llu --rounds 1%s\n  %s\n%s\n", what.c_str(),
              static_cast<unsigned long long>(r.seed),
              p.idle.park_timeout.kind == park_timeout_setting::mode::never ? " --park-timeout never" : "",
              to_text(p).c_str(), r.on != nullptr ? r.on->metrics().to_text().c_str() : "");
  std::fflush(stdout);
  std::_Exit(1);
}

/// How a round ends.
enum class ending : std::uint8_t { drained, closed, cut_short };

template <class Condition> bool within_patience(const Condition& holds) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(100us);
  }
  return true;
}

/// Ends the process when the round takes too long.
class watchdog {
 public:
  watchdog(const round& r, const profile& p)
      : thread_([&] {
          if (!within_patience([&] { return done_.load(); })) fail(r, p, "it hangs");
        }) {}
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;
  ~watchdog() {
    done_.store(true);
    thread_.join();
  }

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

void check_counts(const round& r, const profile& p) {
  const engine& e = *r.on;
  if (!within_patience([&] { return e.metrics().waiting() == 0; })) fail(r, p, "tasks wait at rest");
  const metrics_snapshot m = e.metrics();
  if (m.in_flight() != 0) fail(r, p, std::to_string(m.in_flight()) + " in flight at rest");
  if (m.total().rescued_by_timeout != 0) fail(r, p, "work was rescued by a time-out");
}

void check_fates(round& r, const profile& p, bool all_ran) {
  const std::uint32_t made =
      std::min<std::uint32_t>(r.next_fate.load(), static_cast<std::uint32_t>(r.fates.size()));
  for (std::uint32_t n = 0; n < made; ++n) {
    const fate& f = r.fates[n];
    const int accepted = f.accepted.load();
    const int runs = f.runs.load();
    const int ends = f.ends.load();
    if (ends == 1 && runs <= accepted && (!all_ran || runs == accepted)) continue;
    fail(r, p,
         "task " + std::to_string(n) + ": accepted " + std::to_string(accepted) + ", ran " +
             std::to_string(runs) + " times, destroyed " + std::to_string(ends) + " times");
  }
}

void run_round(std::uint64_t seed, bool never_times_out, tally& total) {
  round r(seed);
  placement_rng rng(seed * 0x9E3779B97F4A7C15ULL);
  const profile p = any_profile(rng, never_times_out);
  r.began_with = p;
  r.never_times_out = never_times_out;
  const auto end = static_cast<ending>(rng.below(3));
  const std::uint32_t outside = 1 + rng.below(4);

  engine_hooks hooks;
  hooks.on_worker_start = [&](worker_id) { r.threads_in_tasks.fetch_add(1); };
  hooks.on_worker_stop = [&](worker_id) { r.threads_in_tasks.fetch_sub(1); };
  bool all_ran = true;
  {
    engine e(p, hooks);
    r.on = &e;
    r.workers = static_cast<std::uint32_t>(e.workers().size());
    r.groups = static_cast<std::uint32_t>(e.groups().size());
    r.may_await_child = e.groups().domains().size() == 1 && p.steal.policy != "none" &&
                        p.queues.lifo_age.has_value() && end == ending::drained;
    const watchdog dog(r, p);

    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < outside; ++t)
      threads.emplace_back([&, t] { act_outside(r, seed * 31 + t); });
    if (end == ending::drained) {
      for (std::thread& t : threads) t.join();
      e.drain();
      check_counts(r, p);
      if (!e.shutdown(patience).clean()) fail(r, p, "a shutdown at rest was not clean");
    } else {
      // The engine ends in the midst of it: it refuses tasks that come from outside afterwards.
      std::this_thread::sleep_for(std::chrono::milliseconds{rng.below(40)});
      const shutdown_report report =
          e.shutdown(end == ending::closed ? std::chrono::nanoseconds{patience} : 1us * rng.below(2000));
      if (end == ending::closed && !report.clean()) fail(r, p, "a patient shutdown was not clean");
      all_ran = report.clean();
      for (std::thread& t : threads) t.join();
      if (!within_patience([&] { return r.threads_in_tasks.load() == 0; }))
        fail(r, p, "a thread stays in a task");
    }
  }
  r.on = nullptr;
  check_fates(r, p, all_ran);
  for (std::size_t i = 0; i < total.size(); ++i) total[i] += r.counts[i].load();
}

amounts read_arguments(int count, char** words) {
  amounts a;
  a.seed = std::random_device{}();
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = words[i];
    if (name == "--seed")
      a.seed = std::stoull(words[i + 1]);
    else if (name == "--operations")
      a.operations = std::stoull(words[i + 1]);
    else if (name == "--rounds")
      a.rounds = std::stoull(words[i + 1]);
    else if (name == "--park-timeout")
      a.never_times_out = std::strcmp(words[i + 1], "never") == 0;
    else {
      std::fprintf(stderr, "unknown argument %s\n", words[i]);
      std::exit(2);
    }
  }
  return a;
}

} // namespace

} // namespace corewise::tests

using namespace corewise::tests;

int main(int count, char** words) {
  const amounts a = read_arguments(count, words);
  std::printf("seed %llu\n", static_cast<unsigned long long>(a.seed));
  std::fflush(stdout);
  const auto began = std::chrono::steady_clock::now();
  tally total{};
  std::uint64_t done = 0;
  std::uint64_t rounds = 0;
  for (; rounds < a.rounds && done < a.operations; ++rounds) {
    run_round(a.seed + rounds, a.never_times_out, total);
    done = 0;
    for (const std::uint64_t n : total) done += n;
    done -= total[static_cast<std::size_t>(operation::refused)];
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::printf("ok     %llu operations in %llu rounds, %.1f s", static_cast<unsigned long long>(done),
              static_cast<unsigned long long>(rounds), took.count());
  for (std::size_t i = 0; i < total.size(); ++i)
    std::printf(", %s %llu", operation_names[i], static_cast<unsigned long long>(total[i]));
  std::printf("\n");
}
