// Random sequences of all that tasks and outside threads may do, on engines with random profiles and many
// more workers than cores. Every task runs exactly once and is destroyed exactly once; tasks that a shutdown
// drops are destroyed unrun.
//
//     random_sequences [--seed N] [--operations N] [--park-timeout any|never] [--rounds N]
//
// A round is an engine. Its seed decides what it is; the program prints the seed when the round fails:
// `--seed N --rounds 1` is the same round again, as far as threads let it be.

#include <corewise/engine/engine.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/yield.hpp>
#include <corewise/policies/policy.hpp>
#include <corewise/policies/steal_policy.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

struct amounts {
  std::uint64_t seed = 0;
  std::uint64_t operations = 5'000'000;
  std::uint64_t rounds = std::numeric_limits<std::uint64_t>::max();
  bool never_times_out = false;
};

constexpr std::uint64_t operations_of_round = 50'000;
constexpr auto patience = 60s;

// --- the books

enum class operation : std::uint8_t {
  submit,
  yield,
  hand_over,
  block,
  await_child,
  drain,
  reload,
  retire,
  refused,
  count
};
constexpr std::array operation_names{"submitted", "yielded",  "handed over", "blocked", "awaited",
                                     "drained",   "reloaded", "retired",     "refused"};
using tally = std::array<std::uint64_t, static_cast<std::size_t>(operation::count)>;

/// The fate of one task. The holder of a task holds its tokens.
struct fate {
  std::atomic<std::uint8_t> accepted{0};
  std::atomic<std::uint8_t> runs{0};
  std::atomic<std::uint8_t> ends{0};
};

struct round {
  std::uint64_t seed;
  engine* on = nullptr;
  profile began_with;
  std::vector<fate> fates = std::vector<fate>(2 * operations_of_round);
  std::atomic<std::uint32_t> next_fate{0};
  std::atomic<std::uint64_t> done{0}; // operations
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(operation::count)> counts{};
  std::atomic<bool> closed{false};        // a submission was refused
  std::atomic<bool> child_awaited{false}; // one at a time: other workers must be free to run the child
  bool may_await_child = false;
  bool never_times_out = false;
  std::uint32_t workers = 0;
  std::uint32_t groups = 0;
  std::atomic<std::int64_t> threads_in_tasks{0};

  explicit round(std::uint64_t s) : seed(s) {}

  void count(operation o) {
    counts[static_cast<std::size_t>(o)].fetch_add(1, std::memory_order_relaxed);
    if (o != operation::refused) done.fetch_add(1, std::memory_order_relaxed);
  }
  bool over() const { return done.load(std::memory_order_relaxed) >= operations_of_round; }
};

/// Exactly one task holds it, from the task's making to its end.
class token {
 public:
  token(round& r, std::uint32_t number) : round_(&r), number_(number) {}
  token(token&& other) noexcept : round_(std::exchange(other.round_, nullptr)), number_(other.number_) {}
  token& operator=(token&&) = delete;
  ~token() {
    if (round_ != nullptr) at().ends.fetch_add(1, std::memory_order_relaxed);
  }
  void ran() const { at().runs.fetch_add(1, std::memory_order_relaxed); }
  round& in() const { return *round_; }
  /// Returns a generator for the task's own choices.
  placement_rng rng() const { return placement_rng(round_->seed * 0x9E3779B97F4A7C15ULL + number_); }

 private:
  fate& at() const { return round_->fates[number_]; }

  round* round_;
  std::uint32_t number_;
};

// --- the actions of tasks

bool one_in(placement_rng& rng, std::uint32_t n) { return rng.below(n) == 0; }

hint any_hint(const round& r, placement_rng& rng) {
  hint wish;
  if (one_in(rng, 4)) wish.run_as = one_in(rng, 2) ? task_class::latency : task_class::background;
  if (one_in(rng, 8)) wish.worker = worker_id{rng.below(r.workers)};
  if (one_in(rng, 8)) wish.group = group_id{rng.below(r.groups)};
  if (one_in(rng, 16)) wish.package = rng.below(4);
  if (one_in(rng, 16)) wish.node = rng.below(4);
  if (one_in(rng, 16)) wish.kind = rng.below(2);
  if (one_in(rng, 16)) return near(&r, wish);
  return wish;
}

template <class T> T any_of(placement_rng& rng, const std::vector<T>& from) {
  return from[rng.below(static_cast<std::uint32_t>(from.size()))];
}

/// Sets the settings that may change while an engine runs, at random.
void set_any_rules(profile& p, placement_rng& rng, bool others_run_children) {
  p.dispatch.policy = any_of(rng, policy_names());
  do p.steal.policy = any_of(rng, steal_policy_names());
  while (others_run_children && p.steal.policy == "none");
  if (!p.queues.inbox) p.steal.policy = "none";
  p.queues.lifo_cap = any_of<std::uint32_t>(rng, {0, 1, 3});
  p.queues.lifo_age = 50us;
  if (!others_run_children && one_in(rng, 4)) p.queues.lifo_age.reset();
  p.queues.budget = any_of<std::uint32_t>(rng, {4, 128});
  p.injection.buffer = any_of<std::uint32_t>(rng, {0, 1, 64});
  p.idle.spin = std::chrono::microseconds{rng.below(40)};
  p.idle.wake = one_in(rng, 4) ? wake_order::lowest : wake_order::nearest;
  p.idle.searchers_per_mille = any_of<std::uint32_t>(rng, {1, 500, 1000});
  using mode = park_timeout_setting::mode;
  p.idle.park_timeout = {any_of<mode>(rng, {mode::adaptive, mode::never, mode::fixed}), 10ms};
  p.blocking.spares_max = any_of<std::uint32_t>(rng, {0, 2, 64});
  p.blocking.keep_alive = any_of<std::chrono::nanoseconds>(rng, {1ms, 10s});
}

/// Applies other rules, another number of workers, or both. Only an engine that shuts down may refuse.
void reload(round& r, placement_rng& rng) {
  profile p = r.began_with;
  const bool retire = one_in(rng, 2);
  if (retire) p.workers.total = (r.may_await_child ? 2 : 1) + rng.below(r.workers - 1);
  if (!retire || one_in(rng, 2)) set_any_rules(p, rng, r.may_await_child);
  if (r.never_times_out) p.idle.park_timeout.kind = park_timeout_setting::mode::never;
  const apply_result answer = r.on->apply(p);
  if (answer.applied()) return r.count(retire ? operation::retire : operation::reload);
  if (answer.refused.size() == 1 && answer.refused.front().key.empty()) return;
  std::printf("FAILED a reload was refused\n  --seed %llu --rounds 1\n%s",
              static_cast<unsigned long long>(r.seed), answer.to_text().c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

void submit_any(round& r, placement_rng& rng, int generation);

/// Does what closures and coroutines have in common.
void act(round& r, placement_rng& rng, int generation) {
  if (one_in(rng, 100)) {
    // Some calls end at once, some end while a spare thread comes, and some outlast it.
    const std::chrono::microseconds length{one_in(rng, 3) ? 0 : rng.below(one_in(rng, 4) ? 500 : 50)};
    blocking([&] {
      if (length.count() != 0) std::this_thread::sleep_for(length);
    });
    r.count(operation::block);
  }
  if (one_in(rng, 1000)) reload(r, rng);
  if (generation < 6)
    for (std::uint32_t children = rng.below(4); children > 0; --children) submit_any(r, rng, generation + 1);
}

/// Waits for a child without letting go of its worker, as no task should: the child may be in its LIFO slot.
void await_child(round& r, placement_rng& rng) {
  if (!r.may_await_child || !one_in(rng, 200) || r.child_awaited.exchange(true)) return;
  const auto done = std::make_shared<std::atomic<bool>>(false);
  struct at_end {
    std::shared_ptr<std::atomic<bool>> flag;
    explicit at_end(std::shared_ptr<std::atomic<bool>> f) : flag(std::move(f)) {}
    at_end(at_end&&) = default;
    at_end& operator=(at_end&&) = delete;
    ~at_end() {
      if (flag) flag->store(true);
    }
  };
  if (r.on->submit([end = at_end(done)] {}) != submit_result::accepted) done->store(true);
  while (!done->load()) std::this_thread::yield();
  r.count(operation::await_child);
  r.child_awaited.store(false);
}

struct closure_body {
  token mine;
  int generation;

  void operator()() {
    mine.ran();
    placement_rng rng = mine.rng();
    act(mine.in(), rng, generation);
    await_child(mine.in(), rng);
  }
};

/// Sends in any case: when it is dropped unrun, its receiver is still resumed.
class sender {
 public:
  explicit sender(std::shared_ptr<oneshot<std::uint64_t>> to) : to_(std::move(to)) {}
  sender(sender&&) = default;
  sender& operator=(sender&&) = delete;
  ~sender() { send(0); }
  void send(std::uint64_t value) {
    if (const auto to = std::exchange(to_, nullptr)) to->send(value);
  }

 private:
  std::shared_ptr<oneshot<std::uint64_t>> to_;
};

struct sending_body {
  token mine;
  sender out;
  std::uint64_t value;

  void operator()() {
    mine.ran();
    out.send(value);
  }
};

task<> coroutine_body(token mine, int generation) {
  mine.ran();
  round& r = mine.in();
  placement_rng rng = mine.rng();
  for (std::uint32_t steps = rng.below(6); steps > 0; --steps) {
    switch (rng.below(3)) {
    case 0:
      co_await yield();
      r.count(operation::yield);
      break;
    case 1: {
      const auto shot = std::make_shared<oneshot<std::uint64_t>>();
      const std::uint64_t value = rng.next() | 1;
      if (const std::uint32_t number = r.next_fate.fetch_add(1); number < r.fates.size()) {
        const bool in = r.on->submit(sending_body{token(r, number), sender(shot), value}, any_hint(r, rng)) ==
                        submit_result::accepted;
        r.fates[number].accepted.store(in);
        r.count(in ? operation::submit : operation::refused);
      } else {
        shot->send(value);
      }
      const std::uint64_t got = co_await shot->receive();
      if (got != value && got != 0) std::abort();
      r.count(operation::hand_over);
      break;
    }
    default: act(r, rng, generation);
    }
  }
}

void submit_any(round& r, placement_rng& rng, int generation) {
  if (r.over()) return;
  const std::uint32_t number = r.next_fate.fetch_add(1);
  if (number >= r.fates.size()) return;
  token t(r, number);
  const hint wish = any_hint(r, rng);
  const submit_result answer = one_in(rng, 2) ? r.on->submit(coroutine_body(std::move(t), generation), wish)
                               : one_in(rng, 2)
                                   ? r.on->submit(closure_body{std::move(t), generation}, wish)
                                   : r.on->try_submit(closure_body{std::move(t), generation}, wish);
  r.fates[number].accepted.store(answer == submit_result::accepted);
  if (answer != submit_result::accepted) r.closed.store(true);
  r.count(answer == submit_result::accepted ? operation::submit : operation::refused);
}

// --- the actions of outside threads

void act_outside(round& r, std::uint64_t seed) {
  placement_rng rng(seed);
  while (!r.over() && !r.closed.load()) {
    for (std::uint32_t n = 1 + rng.below(8); n > 0; --n) submit_any(r, rng, 0);
    if (one_in(rng, 20)) reload(r, rng);
    if (one_in(rng, 50)) {
      r.on->drain();
      r.count(operation::drain);
    }
    // This is long enough for workers to go to sleep, now and then.
    if (one_in(rng, 10)) std::this_thread::sleep_for(std::chrono::microseconds{rng.below(300)});
  }
}

// --- rounds

/// Describes a machine of several packages or a wide one, every second time with fast and slow cores side by
/// side.
void describe_machine(profile& p, placement_rng& rng) {
  struct machine {
    const char* text;
    const char* fast;
    const char* slow;
  };
  const machine made = any_of<machine>(rng, {{"pack:2 numa:1 l3:1 core:4 pu:1", "0-1,4-5", "2-3,6-7"},
                                             {"pack:2 numa:1 l3:2 core:2 pu:1", "0,2,4-5", "1,3,6-7"},
                                             {"pack:1 numa:1 l3:1 core:20 pu:1", "0-9", "10-19"},
                                             {"pack:4 numa:1 l3:1 core:1 pu:1", "0-1", "2-3"}});
  p.topology.machine.source = synthetic_source{made.text};
  if (one_in(rng, 2))
    p.topology.machine.kinds = {{*cpu_set::parse(made.fast), "P", 1024},
                                {*cpu_set::parse(made.slow), "E", 500}};
}

profile any_profile(placement_rng& rng, bool never_times_out) {
  profile p;
  p.workers.total = 2 + rng.below(31);
  p.workers.pin = pin_to::none;
  if (one_in(rng, 2)) describe_machine(p, rng);
  p.queues.local = any_of<std::uint32_t>(rng, {2, 8, 256});
  p.queues.inbox = any_of<std::uint32_t>(rng, {2, 16, 1024});
  if (one_in(rng, 8)) p.queues.inbox.reset();
  p.injection.scope =
      any_of<injection_scope>(rng, {injection_scope::group, injection_scope::group, injection_scope::engine});
  if (!p.queues.inbox && one_in(rng, 2)) p.injection.scope = injection_scope::none;
  set_any_rules(p, rng, false);
  if (never_times_out) p.idle.park_timeout.kind = park_timeout_setting::mode::never;
  return p;
}

std::string to_text(const profile& p) {
  using mode = park_timeout_setting::mode;
  const auto* source = std::get_if<synthetic_source>(&p.topology.machine.source);
  char line[512];
  std::snprintf(line, sizeof line,
                "%u workers, %s, %s, %s, ring %u, inbox %u, lifo_cap %u%s, park_timeout %s, spares %u",
                p.workers.total.value_or(0), source ? source->text.c_str() : "live",
                p.dispatch.policy.c_str(), p.steal.policy.c_str(), p.queues.local, p.queues.inbox.value_or(0),
                p.queues.lifo_cap, p.queues.lifo_age ? "" : " never aged",
                p.idle.park_timeout.kind == mode::never   ? "never"
                : p.idle.park_timeout.kind == mode::fixed ? "10ms"
                                                          : "adaptive",
                p.blocking.spares_max);
  return line;
}

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
