// The costs of coroutines on one worker: to await one in place, to yield, to hand a value over and back, to
// spawn one.
#include <corewise/engine/engine.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/yield.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // the one-piece oneshot

using namespace corewise;

namespace {

using monotonic = std::chrono::steady_clock;

double ns_since(monotonic::time_point began, int operations) {
  return std::chrono::duration<double, std::nano>(monotonic::now() - began).count() / operations;
}

[[gnu::noinline]] task<int> child(int n) { co_return n; }

task<double> awaits(int children) {
  const auto began = monotonic::now();
  int sum = 0;
  for (int i = 0; i < children; ++i) sum += co_await child(1);
  if (sum != children) std::abort();
  co_return ns_since(began, children);
}

void must_submit(engine& on, task<void> work) {
  if (on.submit(std::move(work)) != submit_result::accepted) std::abort();
}

task<void> yielder(int times, int& left, oneshot<bool>& over) {
  for (int i = 0; i < times; ++i) co_await yield();
  if (--left == 0) over.send(true);
}

/// Measures 200 coroutines that do nothing but yield.
task<double> yields(engine& on, int operations) {
  constexpr int yielders = 200;
  int left = yielders;
  oneshot<bool> over;
  const auto began = monotonic::now();
  for (int i = 0; i < yielders; ++i) must_submit(on, yielder(operations / yielders, left, over));
  co_await over.receive();
  co_return ns_since(began, operations / yielders * yielders);
}

struct round {
  oneshot<int> there;
  oneshot<int> back;
};

task<void> answers(std::vector<round>& rounds) {
  for (round& r : rounds) r.back.send(co_await r.there.receive());
}

task<double> round_trips(engine& on, int operations) {
  std::vector<round> rounds(static_cast<std::size_t>(operations));
  must_submit(on, answers(rounds));
  co_await yield(); // it waits from now on
  const auto began = monotonic::now();
  for (round& r : rounds) {
    r.there.send(1);
    if (co_await r.back.receive() != 1) std::abort();
  }
  co_return ns_since(began, operations);
}

/// The same by `make_oneshot`, whose halves have a block, and are made for each round trip.
struct round_of_halves {
  std::pair<oneshot_sender<int>, oneshot_receiver<int>> there = make_oneshot<int>();
  std::pair<oneshot_sender<int>, oneshot_receiver<int>> back = make_oneshot<int>();
};

task<void> answers_by_halves(std::vector<std::optional<round_of_halves>>& rounds) {
  for (auto& r : rounds) r->back.first.send(co_await r->there.second.receive());
}

task<double> round_trips_by_halves(engine& on, int operations) {
  std::vector<std::optional<round_of_halves>> rounds(static_cast<std::size_t>(operations));
  rounds.front().emplace();
  must_submit(on, answers_by_halves(rounds));
  co_await yield(); // it waits from now on
  const auto began = monotonic::now();
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    if (i + 1 < rounds.size()) rounds[i + 1].emplace(); // for which the other one waits next
    rounds[i]->there.first.send(1);
    if (co_await rounds[i]->back.second.receive() != 1) std::abort();
    rounds[i].reset();
  }
  co_return ns_since(began, operations);
}

task<void> nothing(int& left, oneshot<bool>& over) {
  if (--left == 0) over.send(true);
  co_return;
}

/// Spawns from a task, a hundred at a time.
task<double> spawns(engine& on, int operations) {
  constexpr int batch = 100;
  const auto began = monotonic::now();
  for (int done = 0; done < operations; done += batch) {
    int left = batch;
    oneshot<bool> over;
    for (int i = 0; i < batch; ++i) must_submit(on, nothing(left, over));
    co_await over.receive();
  }
  co_return ns_since(began, operations);
}

void report(engine& on, const char* name, int runs, auto work) {
  std::vector<double> times;
  for (int run = 0; run <= runs; ++run) {
    const double ns = sync_wait(on, work());
    if (run > 0) times.push_back(ns); // the first is a warm-up
  }
  std::ranges::sort(times);
  std::printf("| %s | %.1f | %.1f | %.1f |\n", name, times[times.size() / 2], times.front(), times.back());
}

} // namespace

int main(int count, char** words) {
  const int runs = count > 1 ? std::atoi(words[1]) : 15;
  if (count > 2 || runs < 1) {
    std::fputs("usage: coroutine_cost [RUNS]\n", stderr);
    return 2;
  }
  profile p;
  p.workers.total = 1;
  engine e(p);
  std::puts("| one worker | median ns | least | most |\n|---|---|---|---|");
  report(e, "a task awaited in place", runs, [] { return awaits(1'000'000); });
  report(e, "a yield, of 200 yielders", runs, [&] { return yields(e, 2'000'000); });
  report(e, "a round trip over two oneshots", runs, [&] { return round_trips(e, 200'000); });
  report(e, "a round trip over two pairs of halves", runs, [&] { return round_trips_by_halves(e, 200'000); });
  report(e, "a coroutine spawned and run", runs, [&] { return spawns(e, 500'000); });
}
