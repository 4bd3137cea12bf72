// Tests that memory which a burst of tasks took goes back to the system, and that blocks in use stay whole.

#include "child_process.hpp"
#include "counts.hpp"
#include "memory/block_memory.hpp"
#include "small_engine.hpp"

#include <corewise/engine/detail/task_blocks.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/sleep.hpp>

#include <doctest/doctest.h>
#include <malloc.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;

// With AddressSanitizer blocks are not cut from slabs. ThreadSanitizer has memory of its own for each page.
#if defined(__has_feature)
#define COREWISE_TRIMS !__has_feature(address_sanitizer)
#define COREWISE_RESIDENT_IS_OURS !__has_feature(thread_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define COREWISE_TRIMS 0
#else
#define COREWISE_TRIMS 1
#define COREWISE_RESIDENT_IS_OURS 1
#endif

#if COREWISE_TRIMS

namespace {

/// Returns the memory of the process that is resident, in bytes, without what the C library keeps.
[[maybe_unused]] std::size_t resident() {
  ::malloc_trim(0);
  std::size_t all = 0;
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> all >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::vector<void*> take(std::size_t size_class, std::size_t blocks) {
  std::vector<void*> taken(blocks);
  for (void*& b : taken) {
    b = detail::acquire_block(size_class);
    std::fill_n(static_cast<std::byte*>(b), detail::block_sizes[size_class], std::byte{1});
  }
  return taken;
}

constexpr std::size_t megabyte = 1'000'000;

} // namespace

#if COREWISE_RESIDENT_IS_OURS
TEST_CASE("trim: whole spare slabs go back, and serve blocks of another size") {
  constexpr std::size_t burst = 30 * megabyte;
  for (std::size_t c = 0; c < detail::block_classes; ++c) {
    CAPTURE(c);
    detail::trim_blocks(0);
    const std::size_t before = resident();
    const std::uint64_t held = detail::count_block_memory().held_bytes;
    for (void* b : take(c, burst / detail::block_sizes[c])) detail::release_block(b, c);
    CHECK(resident() >= before + burst * 9 / 10);
    detail::trim_blocks(0);
    CHECK(resident() <= before + 5 * megabyte);
    CHECK(detail::count_block_memory().held_bytes <= held + 5 * megabyte);
  }
}

TEST_CASE("trim: spare pages between blocks in use go back, are cut again, and no block in use changes") {
  for (std::size_t c = 0; c < detail::block_classes; ++c) {
    CAPTURE(c);
    const std::size_t bytes = detail::block_sizes[c];
    const std::size_t blocks = 10 * megabyte / bytes;
    std::vector<void*> taken = take(c, blocks);
    std::vector<void*> kept;
    for (std::size_t i = 0; i < blocks; ++i) {
      const bool stays = i * bytes / 4096 % 16 == 0; // one page of sixteen
      if (!stays) detail::release_block(taken[i], c);
      if (stays) kept.push_back(taken[i]);
      if (stays) std::fill_n(static_cast<std::byte*>(taken[i]), bytes, std::byte{7});
    }
    const std::size_t full = resident();
    detail::trim_blocks(0);
    CHECK(resident() + 7 * megabyte < full);
    // What was returned is cut again: the burst fits in the same slabs.
    const std::vector<void*> again = take(c, blocks - kept.size());
    CHECK(resident() <= full + 3 * megabyte);
    const auto whole = [&](void* b) {
      const auto* bytes_of = static_cast<const std::byte*>(b);
      return std::all_of(bytes_of, bytes_of + bytes, [](std::byte x) { return x == std::byte{7}; });
    };
    CHECK(std::ranges::all_of(kept, whole));
    for (void* b : again) detail::release_block(b, c);
    for (void* b : kept) detail::release_block(b, c);
  }
}
#endif

TEST_CASE("trim: it leaves off when it is told to, and all blocks are still there") {
  for (void* b : take(0, 200'000)) detail::release_block(b, 0);
  const std::uint64_t held = detail::count_block_memory().held_bytes;
  int asked = 0;
  detail::trim_blocks(0, [&] { return ++asked >= 2; });
  CHECK(asked >= 2);
  CHECK(detail::count_block_memory().held_bytes == held);
  for (void* b : take(0, 190'000)) detail::release_block(b, 0);
  CHECK(detail::count_block_memory().held_bytes == held); // none was cut
  detail::trim_blocks(0);
  CHECK(detail::count_block_memory().held_bytes < held);
}

TEST_CASE("trim: the child of a process fork leaves its parent's slabs alone") {
  const std::vector<void*> parents = take(2, 20'000);
  const pid_t child = ::fork();
  if (child == 0) {
    for (void* b : parents) detail::release_block(b, 2);
    const std::vector<void*> own = take(2, 20'000); // some of these are the parent's
    for (void* b : own) detail::release_block(b, 2);
    detail::trim_blocks(0);
    const bool sane = detail::count_block_memory().held_bytes < 40 * megabyte;
    for (void* b : take(2, 40'000)) detail::release_block(b, 2);
    std::_Exit(sane ? 0 : 1);
  }
  CHECK(tests::exit_status(child) == 0);
  for (void* b : parents) detail::release_block(b, 2);
}

TEST_CASE("trim: the child of a process fork that comes during a trim trims its own blocks") {
  for (void* b : take(2, 20'000)) detail::release_block(b, 2);
  std::atomic<bool> trims{false};
  std::atomic<bool> forked{false};
  std::thread other([&] {
    detail::trim_blocks(0, [&] {
      trims = true;
      while (!forked) std::this_thread::yield();
      return false;
    });
  });
  while (!trims) std::this_thread::yield();
  const pid_t child = tests::child_that([] {
    for (void* b : take(2, 40'000)) detail::release_block(b, 2);
    const std::uint64_t held = detail::count_block_memory().held_bytes;
    detail::trim_blocks(0);
    std::_Exit(detail::count_block_memory().held_bytes < held ? 0 : 1);
  });
  forked = true;
  other.join();
  CHECK(tests::exit_status(child) == 0);
}

TEST_CASE("trim: pages that the system does not take back are counted, and are used again") {
  const std::vector<void*> taken = take(3, 20'000);
  // The calls themselves: sanitizers replace the functions by ones that do nothing.
  const auto for_each = [&](long call) {
    return std::ranges::all_of(taken,
                               [&](void* b) { return ::syscall(call, b, detail::block_sizes[3]) == 0; });
  };
  if (!for_each(SYS_mlock)) {
    MESSAGE("skipped: this process may not lock its memory");
    for_each(SYS_munlock);
    for (void* b : taken) detail::release_block(b, 3);
    return;
  }
  const std::uint64_t before = detail::count_block_memory().refused_pages;
  for (std::size_t i = 1; i < taken.size(); ++i)
    if (i % 2048 != 0) detail::release_block(taken[i], 3); // one stays in each slab
  detail::trim_blocks(0);
  CHECK(detail::count_block_memory().refused_pages > before);
  CHECK(for_each(SYS_munlock));
  for (void* b : take(3, 19'000)) detail::release_block(b, 3);
  for (std::size_t i = 0; i < taken.size(); i += 2048) detail::release_block(taken[i], 3);
}

TEST_CASE("trim: while it runs, the blocks that it has taken out do not count as used") {
  for (std::size_t c = 0; c < detail::block_classes; ++c) {
    CAPTURE(c);
    const std::size_t bytes = detail::block_sizes[c];
    std::vector<void*> taken = take(c, 10 * megabyte / bytes);
    const std::size_t half =
        taken.size() / 2; // of one half some blocks are spare, of the other all, so whole slabs
    for (std::size_t i = half; i < taken.size(); ++i) detail::release_block(taken[i], c);
    for (std::size_t i = 0; i < half; i += 64) detail::release_block(std::exchange(taken[i], nullptr), c);
    const std::uint64_t before = detail::count_block_memory().used_bytes;
    std::uint64_t most = before;
    int asked = 0;
    detail::trim_blocks(0, [&] {
      most = std::max(most, detail::count_block_memory().used_bytes);
      ++asked;
      return false;
    });
    CHECK(asked > 2);
    CHECK(most == before);
    CHECK(detail::count_block_memory().used_bytes <= before); // the rest of a page that goes counts as used
    for (std::size_t i = 0; i < half; ++i)
      if (taken[i] != nullptr) detail::release_block(taken[i], c);
  }
}

TEST_CASE("trim: threads that take and give blocks meanwhile never share one") {
  std::atomic<bool> over{false};
  std::atomic<int> shared{0};
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed)
    threads.emplace_back([&, seed] {
      std::minstd_rand random(seed);
      std::array<std::vector<std::size_t*>, detail::block_classes> mine;
      std::size_t number = seed;
      while (!over) {
        const std::size_t c = random() % detail::block_classes;
        const std::size_t words = detail::block_sizes[c] / sizeof(std::size_t);
        for (std::size_t n = random() % 300; n != 0; --n) {
          auto* b = static_cast<std::size_t*>(detail::acquire_block(c));
          std::fill_n(b, words, number += 4);
          mine[c].push_back(b);
        }
        for (std::size_t n = random() % 300; n != 0 && !mine[c].empty(); --n) {
          std::swap(mine[c][random() % mine[c].size()], mine[c].back());
          const std::size_t* b = mine[c].back();
          if (std::count(b, b + words, *b) != static_cast<std::ptrdiff_t>(words) || *b % 4 != seed) ++shared;
          detail::release_block(mine[c].back(), c);
          mine[c].pop_back();
        }
      }
      for (std::size_t c = 0; c < detail::block_classes; ++c)
        for (std::size_t* b : mine[c]) detail::release_block(b, c);
    });
  for (int i = 0; i < tests::count_of(40, 300); ++i) {
    int left = i; // the first trim goes to its end, and others leave off at some moment
    detail::trim_blocks(0, [&] { return --left == 0; });
    std::this_thread::sleep_for(1ms);
  }
  over = true;
  for (std::thread& t : threads) t.join();
  CHECK(shared == 0);
}

#if COREWISE_RESIDENT_IS_OURS
namespace {

/// Returns how many bytes of blocks the process may hold at rest: a tenth more than are in use, and 64 pages for each size
/// and living thread.
std::uint64_t most_at_rest(std::uint64_t used) {
  const auto threads = std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                                     std::filesystem::directory_iterator());
  return used + used / 10 + 64 * 4096 * detail::block_classes * static_cast<std::uint64_t>(threads);
}

/// Returns whether the engine gives its spare blocks back within some seconds of rest, and the process the memory, of which
/// it had `before` bytes.
bool comes_back(const engine& e, std::size_t before) {
  for (int i = 0; i < 100; ++i) {
    const metrics_snapshot m = e.metrics();
    const std::uint64_t most = most_at_rest(m.memory_blocks_used_bytes);
    if (m.memory_blocks_held_bytes <= most && resident() <= before + most + 5 * megabyte) return true;
    std::this_thread::sleep_for(100ms);
  }
  return false;
}

} // namespace

TEST_CASE("trim: an engine at rest gives back what a burst of tasks and of suspended coroutines took") {
  engine e(small_profile(2));
  const auto burst = [&](std::size_t size, const auto& submit) {
    const std::size_t count = 60 * megabyte / size;
    gate held;
    for (int i = 0; i < 2; ++i) REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
    held.wait_for(2);
    for (std::size_t i = 0; i < count; ++i) REQUIRE(submit() == submit_result::accepted);
    held.open();
    e.drain();
  };
  detail::trim_blocks(0);
  const std::size_t before = resident();
  const std::uint64_t refused = e.metrics().memory_pages_refused;
  burst(400, [&] { return e.submit([a = std::array<char, 350>{}] { static_cast<void>(a); }); });
  burst(4096, [&] { return e.submit([a = std::array<char, 3000>{}] { static_cast<void>(a); }); });
  const auto sleeps = []() -> task<void> { co_await sleep_for(100ms); };
  burst(256, [&] { return e.submit(sleeps()); });
  CHECK(e.metrics().memory_blocks_held_bytes >= 60 * megabyte);
  CHECK(comes_back(e, before));
  CHECK(e.metrics().memory_pages_refused == refused);
}

TEST_CASE("trim: an engine at rest gives back what a million suspended coroutines took") {
  constexpr std::size_t count = 1'000'000;
  constexpr std::size_t block = 128; // of such a frame, at least
  engine e(small_profile(2));
  detail::trim_blocks(0);
  const std::size_t before = resident();
  event all;
  const auto waits = [&]() -> task<void> { co_await all.wait(); };
  for (std::size_t i = 0; i < count; ++i) REQUIRE(e.submit(waits()) == submit_result::accepted);
  const auto suspended = [&] {
    const auto by_kind = e.dump().suspended;
    return by_kind.empty() ? 0 : by_kind.front().coroutines;
  };
  while (suspended() != count) std::this_thread::sleep_for(10ms);
  CHECK(e.metrics().memory_blocks_used_bytes >= count * block);
  all.set();
  e.drain();
  CHECK(e.metrics().memory_blocks_held_bytes >= count * block);
  CHECK(e.metrics().memory_blocks_used_bytes >=
        count * sizeof(detail::suspension_entry)); // of those that waited
  CHECK(comes_back(e, before));
  CHECK(e.metrics().memory_blocks_used_bytes <= count);
}

TEST_CASE("trim: an engine at rest gives back what a million timers took, called or cancelled") {
  constexpr std::size_t of_each = 500'000;
  constexpr std::size_t block = 128; // of a call that captures little
  engine e(small_profile(2));
  detail::trim_blocks(0);
  const std::size_t before = resident();
  std::atomic<std::size_t> called{0};
  std::vector<timer> beats;
  for (std::size_t i = 0; i < of_each; ++i) {
    e.after(1s, [&] { ++called; });
    beats.push_back(e.every(1h, [] {}));
  }
  CHECK(e.metrics().memory_blocks_used_bytes >= of_each * block);
  CHECK(e.metrics().timers_pending >= of_each);
  while (called != of_each) std::this_thread::sleep_for(1ms);
  CHECK(static_cast<std::size_t>(std::ranges::count_if(beats, &timer::cancel)) == of_each);
  beats = std::vector<timer>();
  e.drain();
  CHECK(e.metrics().timers_pending == 0);
  CHECK(e.metrics().memory_blocks_held_bytes >= of_each * block);
  CHECK(comes_back(e, before));
}
TEST_CASE("trim: the end of the last engine gives back what a burst took, without any rest") {
  detail::trim_blocks(0);
  const std::size_t before = resident();
  gate held;
  {
    engine e(small_profile(2));
    for (int i = 0; i < 2; ++i) REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
    held.wait_for(2);
    for (int i = 0; i < 150'000; ++i)
      REQUIRE(e.submit([a = std::array<char, 350>{}] { static_cast<void>(a); }) == submit_result::accepted);
    CHECK(resident() >= before + 60 * megabyte);
    held.open();
  }
  const detail::block_memory now = detail::count_block_memory();
  CHECK(now.held_bytes <= most_at_rest(now.used_bytes));
  CHECK(resident() <= before + most_at_rest(0) + 5 * megabyte);
}
#endif

#endif
