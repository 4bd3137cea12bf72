#include "fib.hpp"
#include "small_engine.hpp"

#include <corewise/engine/barrier.hpp>
#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/channel.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/latch.hpp>
#include <corewise/engine/mutex.hpp>
#include <corewise/engine/parallel_for.hpp>
#include <corewise/engine/parallel_reduce.hpp>
#include <corewise/engine/run_blocking.hpp>
#include <corewise/engine/scope.hpp>
#include <corewise/engine/semaphore.hpp>
#include <corewise/engine/sync_wait.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <new>
#include <ranges>
#include <thread>
#include <vector>

// Counts the whole program's allocations from operator new, and the recycled blocks that it acquires: the
// linker puts `count_block` before `acquire_block_at` (--wrap).

namespace {
std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> blocks{0};
std::atomic<bool> refused{false}; // there are no more blocks
} // namespace

void* acquire_counted_block(std::size_t list) asm("__real__ZN8corewise6detail16acquire_block_atEm");
void* count_block(std::size_t list) asm("__wrap__ZN8corewise6detail16acquire_block_atEm");
void* count_block(std::size_t list) {
  blocks.fetch_add(1, std::memory_order_relaxed);
  if (refused) throw std::bad_alloc();
  return acquire_counted_block(list);
}

// Neither is inlined: if GCC 12 has inlined one of a pair, it takes the pair for a mistake.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const auto a = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(a, (bytes + a - 1) / a * a)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

using namespace corewise;

namespace {

/// Without looks at files of the host and reports of slow tasks, which take memory.
profile quiet(profile p) {
  p.topology.follow.kind = follow_setting::mode::off;
  p.blocking.stuck_after.reset();
  return p;
}
profile quiet_profile(std::uint32_t workers) { return quiet(small_profile(workers)); }

/// The primitives by which the two sides wait for each other.
struct meeting_places {
  channel<int> there{0};
  channel<int> back{1};
  event turned;
  auto_reset_event ping;
  auto_reset_event pong;
  semaphore permits{0};
  mutex alone;
  barrier together{2};
  std::stop_source stop;
};

/// Returns the allocations after its first 100 rounds, because its own frame may be too large for a block.
task<std::uint64_t> one_side(meeting_places& at, int rounds) {
  std::uint64_t before = 0;
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    if (i == 100) before = allocations.load();
    co_await at.there.send(i, at.stop.get_token());
    const std::optional<int> answer = co_await at.back.receive();
    sum += answer.value_or(0);
    at.ping.set();
    co_await at.pong.wait(at.stop.get_token());
    co_await at.permits.acquire();
    {
      const mutex_guard lock = co_await at.alone.lock();
      co_await at.together.arrive_and_wait();
    }
    at.turned.set();
    co_await at.together.arrive_and_wait(at.stop.get_token());
    at.turned.reset();
    latch both(1);
    both.count_down();
    co_await both.wait();
  }
  if (sum != rounds * (rounds + 1) / 2) throw std::runtime_error("they do not meet");
  co_return allocations.load() - before;
}

task<> other_side(meeting_places& at, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const std::optional<int> question = co_await at.there.receive(at.stop.get_token());
    co_await at.back.send(question.value_or(0) + 1);
    co_await at.ping.wait();
    at.pong.set();
    at.permits.release();
    co_await at.together.arrive_and_wait();
    const mutex_guard lock = co_await at.alone.lock(at.stop.get_token());
    co_await at.turned.wait();
    co_await at.together.arrive_and_wait();
  }
}

task<std::uint64_t> both_sides(meeting_places& at, int rounds) {
  auto [taken, nothing] = co_await when_all(one_side(at, rounds), other_side(at, rounds));
  co_return taken;
}

} // namespace

TEST_CASE("forking and running take nothing from operator new once the blocks are there") {
  engine e(quiet_profile(1)); // one worker: its peak need does not depend on others
  for (int i = 0; i < 3; ++i) REQUIRE(sync_wait(e, fib(18)) == 2584);
  const std::uint64_t before = allocations.load();
  REQUIRE(before != 0); // the counter counts
  for (int i = 0; i < 20; ++i) REQUIRE(sync_wait(e, fib(18)) == 2584);
  CHECK(allocations.load() - before == 0);
}

TEST_CASE("forking a range of at most so many children takes nothing from operator new") {
  engine e(quiet_profile(1));
  const auto forks = []() -> task<std::uint64_t> {
    const auto child = [](int n) -> task<int> { co_return n; };
    std::uint64_t before = 0;
    int sum = 0;
    for (int i = 0; i < 200; ++i) {
      if (i == 100) before = allocations.load();
      for (const int value : co_await when_all<10>(std::views::iota(0, 10) | std::views::transform(child)))
        sum += value;
    }
    if (sum != 200 * 45) throw std::runtime_error("a value is missing");
    co_return allocations.load() - before;
  };
  CHECK(sync_wait(e, forks()) == 0);
}

TEST_CASE("waiting takes nothing from operator new, for each primitive, with a stop token or without") {
  for (const std::uint32_t workers : {1U, 2U}) {
    engine e(quiet_profile(workers));
    meeting_places at;
    CHECK(sync_wait(e, both_sides(at, 2000)) == 0);
  }
}

namespace {

/// Makes calls, with a stop token and without. Returns the allocations after its first 100 rounds.
task<std::uint64_t> make_calls(int rounds) {
  const std::stop_source nobody;
  const auto call = [] { std::this_thread::sleep_for(std::chrono::microseconds{1}); };
  std::uint64_t before = 0;
  for (int i = 0; i < rounds; ++i) {
    if (i == 100) before = allocations.load();
    co_await run_blocking(call);
    co_await run_blocking(call, nobody.get_token());
  }
  co_return allocations.load() - before;
}

task<std::uint64_t> make_calls_at_once(int rounds) {
  auto [some, more, most] = co_await when_all(make_calls(rounds), make_calls(rounds), make_calls(rounds));
  co_return some + more + most;
}

} // namespace

TEST_CASE("waiting suspended for a blocking call's turn takes nothing from operator new") {
  profile p = quiet_profile(2);
  p.blocking.max_concurrent = 1;
  p.blocking.spares_max = 0; // a thread would take some
  engine e(p);
  CHECK(sync_wait(e, make_calls_at_once(1000)) == 0);
  CHECK(e.metrics().blocking_calls_waited > 100);
}

namespace {

/// Lets each worker fork: a worker has a deque from its first fork on. Each group gets as many tasks as it has workers,
/// and no group helps another (`two_package_profile`).
void let_all_workers_fork(engine& e) {
  const std::size_t workers = e.workers().size();
  std::atomic<std::size_t> there{0};
  for (const worker_place& p : e.workers().workers())
    REQUIRE(e.submit(
                [&] {
                  there.fetch_add(1);
                  while (there.load() != workers) std::this_thread::yield(); // each task is on another worker
                  blocking_scope s;
                  s.fork([] {});
                  s.wait();
                },
                {.group = p.group}) == submit_result::accepted);
  e.drain();
}

/// Runs `rounds` rounds of loops. Returns how many allocations the last half of them made.
task<std::uint64_t> loops(int rounds, std::vector<double>& numbers) {
  const auto slowly = [](double& x) {
    for (int i = 0; i < 100; ++i) x = x * 0.5 + 1;
  };
  const auto itself = [](double x) { return x; };
  std::uint64_t before = 0;
  double sum = 0;
  for (int i = 0; i < rounds; ++i) {
    if (i == rounds / 2) before = allocations.load();
    co_await parallel_for(numbers, slowly);
    sum += co_await parallel_reduce(numbers, 0.0, itself, std::plus<>());
  }
  if (!(sum > 0)) throw std::runtime_error("nothing was added up");
  co_return allocations.load() - before;
}

} // namespace

TEST_CASE("loops take nothing from operator new, on one group and on several") {
  std::vector<double> numbers(20'000, 1.0);
  for (const profile& p : {quiet_profile(1), quiet_profile(2), quiet(two_package_profile(2))}) {
    engine e(p);
    let_all_workers_fork(e);
    CHECK(sync_wait(e, loops(100, numbers)) == 0);
    CHECK((e.groups().size() == 1 || e.metrics().total().forked != 0));
  }
}

TEST_CASE("a loop of long elements ends also where there are no blocks to split it") {
  engine e(quiet_profile(4));
  const auto body = [](int) {
    refused = true;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  };
  e.run([&]() -> task<> { co_await parallel_for(0, 20, body); }).get();
  refused = false;
}

TEST_CASE("blocking scopes take nothing from operator new, with a stop token or without") {
  profile p = quiet_profile(2);
  p.blocking.spares_max = 0; // a spare thread is allocated when it is first wanted
  engine e(p);
  let_all_workers_fork(e);
  std::stop_source stop;
  struct tree {
    std::stop_token token;
    int sum(int n) const {
      if (n == 0) return 1;
      int a = 0;
      blocking_scope s(token);
      s.fork([&] { a = sum(n - 1); });
      const int b = sum(n - 1);
      s.wait();
      return a + b;
    }
  };
  const auto many = [&](int rounds) {
    for (int i = 0; i < rounds; ++i)
      for (const std::stop_token& token : {std::stop_token(), stop.get_token()})
        if (tree{token}.sum(10) != 1024) return ~std::uint64_t{0};
    return allocations.load();
  };
  const auto work = [&] {
    const std::uint64_t before = many(10);
    return many(20) - before;
  };
  CHECK(e.run(work).get() == 0);
}

TEST_CASE("a thread that waits for a coroutine takes nothing from operator new") {
  engine e(quiet_profile(1));
  auto_reset_event ping;
  auto_reset_event pong;
  constexpr int rounds = 300;
  const auto answers = [&]() -> task<> {
    for (int i = 0; i < rounds; ++i) {
      co_await ping.wait();
      pong.set();
    }
  };
  REQUIRE(e.submit(answers()) == submit_result::accepted);
  std::uint64_t before = 0;
  for (int i = 0; i < rounds; ++i) {
    if (i == 10) before = allocations.load();
    ping.set();
    sync_wait(pong.wait());
  }
  CHECK(allocations.load() - before == 0);
  e.drain();
}

namespace {

/// The allocations and the blocks of the last half of some rounds.
struct taken {
  std::uint64_t allocations = 0;
  std::uint64_t blocks = 0;
  int spawned = 0;

  void begin() { allocations = ::allocations.load(), blocks = ::blocks.load(); }
  void end(int coroutines) {
    allocations = ::allocations.load() - allocations;
    blocks = ::blocks.load() - blocks;
    spawned = coroutines;
  }
};

/// A coroutine with a frame of `Bytes` and a little more.
template <std::size_t Bytes> task<> spawned_coroutine(std::atomic<int>& ended) {
  std::array<unsigned char, Bytes> kept;
  kept.fill(static_cast<unsigned char>(ended.load()));
  const unsigned char first = kept.front();
  co_await yield();
  if (kept.back() == first) ended.fetch_add(1);
}

constexpr int spawned_at_once = 20;

/// Submits coroutines, `spawned_at_once` at a time, and waits for them.
template <std::size_t Bytes> task<taken> submits(engine& e, int rounds) {
  taken t;
  std::atomic<int> ended{0};
  for (int i = 0; i < rounds; ++i) {
    if (i == rounds / 2) t.begin();
    for (int n = 0; n < spawned_at_once; ++n)
      if (e.submit(spawned_coroutine<Bytes>(ended)) != submit_result::accepted)
        throw std::runtime_error("it is refused");
    while (ended.load() != (i + 1) * spawned_at_once) co_await yield();
  }
  t.end((rounds - rounds / 2) * spawned_at_once);
  co_return t;
}

/// Does the same with forks into one scope.
template <std::size_t Bytes> task<taken> forks(int rounds) {
  co_return co_await in_scope([rounds](scope& s) -> task<taken> {
    taken t;
    std::atomic<int> ended{0};
    for (int i = 0; i < rounds; ++i) {
      if (i == rounds / 2) t.begin();
      for (int n = 0; n < spawned_at_once; ++n) s.fork(spawned_coroutine<Bytes>(ended));
      while (ended.load() != (i + 1) * spawned_at_once) co_await yield();
    }
    t.end((rounds - rounds / 2) * spawned_at_once);
    co_return t;
  });
}

template <std::size_t Bytes> void check_spawns() {
  CAPTURE(Bytes);
  for (const std::uint32_t workers : {1U, 2U}) {
    CAPTURE(workers);
    engine e(quiet_profile(workers));
    let_all_workers_fork(e);
    const int rounds = 1000;
    for (const bool forked : {false, true}) {
      CAPTURE(forked);
      const taken t = sync_wait(e, forked ? forks<Bytes>(rounds) : submits<Bytes>(e, rounds));
      CHECK(t.spawned == rounds / 2 * spawned_at_once);
      CHECK(t.allocations == 0);
      CHECK(t.blocks == static_cast<std::uint64_t>(t.spawned));
    }
  }
}

} // namespace

TEST_CASE("a spawned coroutine takes one recycled block, and nothing from operator new, whether submitted or "
          "forked") {
  check_spawns<16>();
}

TEST_CASE("a spawned coroutine with a large frame, up to 4 KiB, also takes one recycled block") {
  check_spawns<600>();
  check_spawns<1500>();
  check_spawns<3500>();
}
